/** What people ask of lines: who stands in them, and to break a hold. */
import type { Runtime } from '../../core/runtime.ts'
import type { LineView, PlaceView } from '../../driver.ts'
import { placeView } from '../view.ts'
import { tellBreak } from './breaks.ts'
import { isZooKeeperError, type ZooKeeperClient } from './client/index.ts'
import type { Ground } from './ground.ts'
import type { Layout, Named } from './layout.ts'
import { readLine } from './line.ts'
import { grantedOf, inOrder } from './look.ts'
import { decodeNode } from './node-data.ts'
import { isWhole } from './turns.ts'

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
    // A follower may be behind: the leader is asked first.
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
  const line = inOrder(await readLine(client, layout, linePath))
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
    // The age compares the leader's clock with ours. Of what is left only the whole lease is known: sessions are renewed
    // where nobody else can see it.
    const times = { ageMs: wallMs - stat.ctime, leftMs: node.ttlMs }
    return placeView({ token: stat.czxid, weight: place.weight, data: node.data }, times)
  } catch (error) {
    if (isZooKeeperError(error, 'NoNode')) return null
    throw error
  }
}

/** Marks the nodes of those who hold, or deletes them at once. Answers how many. */
export async function breakLine(
  client: ZooKeeperClient,
  ground: Ground,
  layout: Layout,
  linePath: string,
  now: boolean,
): Promise<number> {
  const [, line] = await Promise.all([client.sync('/'), readLine(client, layout, linePath)])
  const beside = layout.breakPath(linePath)
  const broken = await Promise.all(
    grantedOf(inOrder(line)).map(async (holder) => {
      const path = `${linePath}/${holder.name}`
      if (now) return remove(client, path)
      if (beside === null || !isWhole(holder)) return mark(client, layout, path)
      await tellBreak(client, ground, beside, holder.name)
      return true
    }),
  )
  return broken.filter((done) => done).length
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
 * Nobody can shorten another's session. So the mark, like the word beside the line, is for the holder: its watch wakes it, it renews no more, its lease
 * ends and its own process takes the node away. A holder that is dead by then loses the node with its session.
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
