/**
 * Nodes that another recipe has put beside our places, where the path of a line is not ours alone. Whether they hold
 * the lock can't be told from their names, and whether they wait for us neither: nobody is granted beside them.
 */
import { UnsupportedError } from '../../contract/errors.ts'
import type { ZooKeeperClient } from '../../clients/zookeeper/index.ts'
import type { Layout } from './layout.ts'

/** The server numbers what stands in a queue. */
const NUMBERED = /\d{10}$/

/** The first child of the line that may stand for a lock and can't be read; null: there is none. */
export async function strangerAmong(
  client: ZooKeeperClient,
  layout: Layout,
  linePath: string,
  names: readonly string[],
): Promise<string | null> {
  if (layout.ownsLines) return null
  const unread = names.filter((name) => layout.parse(name) === null)
  if (unread.length === 0) return null
  const numbered = unread.find((name) => NUMBERED.test(name))
  if (numbered !== undefined) return numbered
  // Curator's semaphores keep their places one level below, in these two.
  if (unread.includes('locks') && unread.includes('leases')) return 'leases'
  // A node that lasts is a folder, such as the path of another lock. One that goes with a session stands for somebody.
  const stats = await Promise.all(unread.map((name) => client.exists(`${linePath}/${name}`)))
  return unread.find((_, i) => (stats[i]?.ephemeralOwner ?? 0n) !== 0n) ?? null
}

export function strangerError(line: string, name: string): UnsupportedError {
  return new UnsupportedError(
    `in ${JSON.stringify(line)} stands ${JSON.stringify(name)}, which neither Curator's InterProcessMutex nor ` +
      `kazoo's Lock has ` +
      'made: who holds the lock can not be told. Give that other recipe a path of its own',
    { line },
  )
}

/** Lines whose strangers were told of: once is enough. */
const warned = new Set<string>()
const WARNED_MAX = 1_024

/** To the holder of a line in which a stranger has come to stand. */
export function warnOfStranger(line: string, name: string): void {
  if (warned.has(line) || warned.size >= WARNED_MAX) return
  warned.add(line)
  process.emitWarning(`${strangerError(line, name).message}. It may not wait for the lock that is held there`, {
    code: 'HF_STRANGER',
  })
}
