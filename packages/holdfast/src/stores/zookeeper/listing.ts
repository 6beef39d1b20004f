/** What people ask of lines: who stands in them, and to break a hold. */
import { UnsupportedError } from '../../contract/errors.ts'
import type { Runtime } from '../../contract/runtime.ts'
import type { LineView, PlaceView } from '../../contract/driver.ts'
import { placeView } from '../view.ts'
import { tellBreak } from './wakeups-breaks.ts'
import { isZooKeeperError, type ZooKeeperClient } from '../../clients/zookeeper/index.ts'
import type { ParentNodes } from './parent-nodes.ts'
import type { Layout, Named } from './layout.ts'
import { parseLine, readNames } from './line.ts'
import { grantedOf, inOrder } from './look.ts'
import { decodeNode } from './node-data.ts'
import { fullWeight, parseMark } from './raise.ts'
import { strangerAmong, strangerError } from './strangers.ts'
import { isWhole } from './handover.ts'

/** Lines asked for at once. */
const BATCH = 64

export async function* listLines(
  client: ZooKeeperClient,
  layout: Layout,
  prefix: string,
  wallNow: Runtime['wallNow'],
): AsyncGenerator<LineView> {
  const names = await lineNames(client, layout, prefix)
  for (let i = 0; i < names.length; i += BATCH) {
    const views = names.slice(i, i + BATCH).map((name) => viewLine(client, layout, name, wallNow()))
    for (const line of await Promise.all(views)) if (line !== null) yield line
  }
}

async function lineNames(client: ZooKeeperClient, layout: Layout, prefix: string): Promise<string[]> {
  if (layout.root === null) return [prefix]
  try {
    // A follower may be behind, so first make it catch up with the leader.
    const [, { children }] = await Promise.all([client.sync('/'), client.getChildren(layout.root)])
    const names = children.map((child) => layout.lineName(child)).filter((name) => name !== null)
    return names.filter((name) => name.startsWith(prefix)).sort()
  } catch (error) {
    if (isZooKeeperError(error, 'NoNode')) return []
    throw error
  }
}

async function viewLine(
  client: ZooKeeperClient,
  layout: Layout,
  name: string,
  wallMs: number,
): Promise<LineView | null> {
  const linePath = layout.linePath(name)
  const names = await readNames(client, linePath)
  const stranger = await strangerAmong(client, layout, linePath, names)
  if (stranger !== null) throw strangerError(name, stranger)
  const line = inOrder(await parseLine(client, layout, linePath, names))
  const shown = await Promise.all(line.map((place) => viewPlace(client, linePath, place, wallMs)))
  const there = line.filter((_, i) => shown[i] !== null)
  const views = shown.filter((view) => view !== null)
  const [oldest] = there
  if (oldest === undefined) return null
  const held = grantedOf(there).length
  return { name, capacity: oldest.capacity, holders: views.slice(0, held), waiters: views.slice(held) }
}

async function viewPlace(
  client: ZooKeeperClient,
  linePath: string,
  place: Named,
  wallMs: number,
): Promise<PlaceView | null> {
  try {
    const { data, stat } = await client.getData(`${linePath}/${place.name}`)
    const node = decodeNode(data)
    // The age compares the leader's clock with ours. For the time left only the whole lease is known: nobody else can
    // see when a session was renewed.
    const times = { ageMs: wallMs - stat.ctime, leftMs: node.ttlMs }
    return placeView({ token: stat.czxid, weight: fullWeight(place), data: node.data }, times)
  } catch (error) {
    if (isZooKeeperError(error, 'NoNode')) return null
    throw error
  }
}

/** Marks the nodes of the holders, or deletes them at once. Returns which. */
export async function breakLine(
  client: ZooKeeperClient,
  parents: ParentNodes,
  layout: Layout,
  name: string,
  now: boolean,
): Promise<string[]> {
  const linePath = layout.linePath(name)
  const [, names] = await Promise.all([client.sync('/'), readNames(client, linePath)])
  const stranger = await strangerAmong(client, layout, linePath, names)
  if (stranger !== null) throw strangerError(name, stranger)
  const holders = grantedOf(inOrder(await parseLine(client, layout, linePath, names)))
  const deaf = holders.find((holder) => !layout.hears(holder.name))
  if (deaf !== undefined && !now) {
    throw new UnsupportedError(
      `kazoo holds ${JSON.stringify(name)} (${deaf.name}), and kazoo can't be asked to release: break it with ` +
        `\`now\`, or end that process`,
      { line: name },
    )
  }
  const beside = layout.breakPath(linePath)
  const broken = await Promise.all(
    holders.map(async (holder) => {
      const path = `${linePath}/${holder.name}`
      if (now) return (await removeAll(client, linePath, holder, names)) ? path : null
      if (beside === null || !isWhole(holder)) return (await mark(client, layout, path)) ? path : null
      await tellBreak(client, parents, beside, holder.name)
      return path
    }),
  )
  return broken.filter((path) => path !== null)
}

/** Removes a place, together with the mark that makes it heavier. */
async function removeAll(
  client: ZooKeeperClient,
  linePath: string,
  holder: Named,
  names: readonly string[],
): Promise<boolean> {
  const marks = names.filter((name) => parseMark(name)?.id === holder.id)
  const [was] = await Promise.all([holder.name, ...marks].map((name) => remove(client, `${linePath}/${name}`)))
  return was === true
}

async function remove(client: ZooKeeperClient, path: string): Promise<boolean> {
  try {
    await client.delete(path)
    return true
  } catch (error) {
    if (isZooKeeperError(error, 'NoNode')) return false
    throw error
  }
}

/**
 * Nobody can shorten another's session. So the mark, like the word beside the line, is for the holder: its watch wakes
 * it, it renews no more, its lease ends, and its own process deletes the node. A holder that is dead by then loses the
 * node with its session.
 */
async function mark(client: ZooKeeperClient, layout: Layout, path: string): Promise<boolean> {
  try {
    const { data } = await client.getData(path)
    await client.setData(path, layout.marked(data))
    return true
  } catch (error) {
    if (isZooKeeperError(error, 'NoNode')) return false
    throw error
  }
}
