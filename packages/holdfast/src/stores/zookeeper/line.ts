/** Reads a line: the children of its node, each with its place in the order. */
import { isZooKeeperError, type ZooKeeperClient } from './client/index.ts'
import type { Layout, Named } from './layout.ts'
import { needsCzxid } from './look.ts'

/** Nobody in it if there is no such line. */
export async function readLine(client: ZooKeeperClient, layout: Layout, linePath: string): Promise<Named[]> {
  return parseLine(client, layout, linePath, await readNames(client, linePath))
}

/** The names of the children alone, in no order. */
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
  for (const name of names) {
    const named = layout.parse(name)
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
