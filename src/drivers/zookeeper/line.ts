/** Reads a line: the children of its node, each with its place in the order. */
import { isZooKeeperError, type ZooKeeperClient } from './client/index.ts'
import type { Layout, Named } from './layout.ts'
import { needsCzxid } from './look.ts'

/** Nobody in it if there is no such line. */
export async function readLine(client: ZooKeeperClient, layout: Layout, linePath: string): Promise<Named[]> {
  let children: readonly string[]
  try {
    children = (await client.getChildren(linePath)).children
  } catch (error) {
    if (isZooKeeperError(error, 'NoNode')) return []
    throw error
  }
  const line: Named[] = []
  for (const child of children) {
    const named = layout.parse(child)
    if (named !== null) line.push(named)
  }
  return needsCzxid(line) ? byCzxid(client, linePath, line) : line
}

/** One question for each, but exact: transactions are numbered for the whole ensemble, and never twice. */
async function byCzxid(client: ZooKeeperClient, linePath: string, line: readonly Named[]): Promise<Named[]> {
  const stats = await Promise.all(line.map(({ name }) => client.exists(`${linePath}/${name}`)))
  return line.flatMap((named, i) => {
    const stat = stats[i]
    return stat === null || stat === undefined ? [] : [{ ...named, order: Number(stat.czxid) }]
  })
}
