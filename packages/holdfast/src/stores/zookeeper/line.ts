/** Reads a line: the children of its node, each with its position in the order. */
import { isZooKeeperError, type ZooKeeperClient } from '../../clients/zookeeper/index.ts'
import type { Layout, Named } from './layout.ts'
import { needsCzxid } from './look.ts'
import { type Mark, parseMark, raiseOf } from './raise.ts'

/** Empty if there is no such line. */
export async function readLine(client: ZooKeeperClient, layout: Layout, linePath: string): Promise<Named[]> {
  return parseLine(client, layout, linePath, await readNames(client, linePath))
}

/** Only the names of the children, in no order. */
export async function readNames(client: ZooKeeperClient, linePath: string): Promise<readonly string[]> {
  try {
    return (await client.getChildren(linePath)).children
  } catch (error) {
    if (isZooKeeperError(error, 'NoNode')) return []
    throw error
  }
}

export async function parseLine(
  client: ZooKeeperClient,
  layout: Layout,
  linePath: string,
  names: readonly string[],
): Promise<Named[]> {
  const line: Named[] = []
  const marks: Mark[] = []
  for (const name of names) {
    const named = layout.parse(name)
    if (named !== null) line.push(named)
    else if (layout.ownsLines) {
      const mark = parseMark(name)
      if (mark !== null) marks.push(mark)
    }
  }
  const isByCzxid = needsCzxid(line)
  if (!isByCzxid) return marks.length === 0 ? line : withRaises(line, marks, false)
  const [places, marked] = await Promise.all([byCzxid(client, linePath, line), byCzxid(client, linePath, marks)])
  return withRaises(places, marked, true)
}

/** The mark of a place that has gone means nothing. */
function withRaises(line: readonly Named[], marks: readonly Mark[], isByCzxid: boolean): Named[] {
  return line.map((named) => {
    const raise = raiseOf(marks, named.id, isByCzxid)
    return raise === undefined ? named : { ...named, raise }
  })
}

/** One request for each, but exact: transactions are numbered for the whole ensemble, and never twice. */
async function byCzxid<T extends Pick<Named, 'name' | 'order'>>(
  client: ZooKeeperClient,
  linePath: string,
  line: readonly T[],
): Promise<T[]> {
  const stats = await Promise.all(line.map(({ name }) => client.exists(`${linePath}/${name}`)))
  return line.flatMap((named, i) => {
    const stat = stats[i]
    return stat === null || stat === undefined ? [] : [{ ...named, order: Number(stat.czxid) }]
  })
}
