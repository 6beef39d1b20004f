/**
 * Nodes that another recipe has put beside our places, where the path of a line is not ours alone. Their names don't
 * tell whether they hold the lock or wait for us, so nobody is granted beside them.
 */
import { UnsupportedError } from '../../contract/errors.ts'
import type { ZooKeeperClient } from '../../clients/zookeeper/index.ts'
import type { Layout } from './layout.ts'

/** The server numbers the nodes of a queue. */
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
  // A node that outlasts its session is a folder, such as the path of another lock. A node that goes with a session
  // stands for a holder or a waiter.
  const stats = await Promise.all(unread.map((name) => client.exists(`${linePath}/${name}`)))
  return unread.find((_, i) => (stats[i]?.ephemeralOwner ?? 0n) !== 0n) ?? null
}

export function strangerError(line: string, name: string): UnsupportedError {
  return new UnsupportedError(
    `in ${JSON.stringify(line)} stands ${JSON.stringify(name)}, which neither Curator's InterProcessMutex nor ` +
      `kazoo's Lock has ` +
      'made: nobody can tell who holds the lock. Give that other recipe a path of its own',
    { line },
  )
}

/** Lines whose strangers were reported: one warning is enough. */
const warned = new Set<string>()
const WARNED_MAX = 1_024

/** Warns the holder of a line that a stranger stands in it. */
export function warnOfStranger(line: string, name: string): void {
  if (warned.has(line) || warned.size >= WARNED_MAX) return
  warned.add(line)
  process.emitWarning(`${strangerError(line, name).message}. It may not wait for the lock that is held there`, {
    code: 'HF_STRANGER',
  })
}
