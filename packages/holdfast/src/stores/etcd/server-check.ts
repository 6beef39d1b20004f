/**
 * Checks the cluster before locks rely on it: some versions of etcd may end a lease that its holder has just renewed.
 */
import { HoldfastError } from '../../contract/errors.ts'
import type { EtcdClient } from '../../clients/etcd/index.ts'

/** For each minor version the first sound release. Older minor versions were never mended; all newer ones are sound. */
const MENDED: ReadonlyMap<number, number> = new Map([
  [4, 31],
  [5, 13],
])
const ASK_MS = 1_000

/** Warns if a leader that stood still past a ttl may revoke leases that the next leader renewed. Never rejects. */
export async function survey(client: EtcdClient, timeoutMs: number): Promise<void> {
  const options = { timeoutMs: Math.min(timeoutMs, ASK_MS) }
  try {
    const [{ version }, { members }] = await Promise.all([client.status(options), client.members(options)])
    // A single member has no successor.
    if (members.length < 2 || !revokesLate(version)) return
    process.emitWarning(
      `etcd ${version}: a leader that stood still for longer than a lease ends, when it goes on, leases that were ` +
        'renewed meanwhile: two may hold a lock at once (etcd issue 15247). Use 3.4.31, 3.5.13 or newer.',
      { type: 'HoldfastWarning', code: 'HF_ETCD_LEASES' },
    )
  } catch (error) {
    // No permission, or no answer. The store works without the warning, and its first lock reports what is wrong with
    // it.
    if (!(error instanceof HoldfastError)) throw error
  }
}

/** Whether a release of etcd has this fault: those before 3.4.31, and 3.5 before 3.5.13. */
export function revokesLate(version: string): boolean {
  const [, major, minor, patch] = /^(\d+)\.(\d+)\.(\d+)/.exec(version)?.map(Number) ?? []
  if (major === undefined || minor === undefined || patch === undefined || major !== 3) return false
  const mended = MENDED.get(minor)
  return mended === undefined ? minor < Math.min(...MENDED.keys()) : patch < mended
}
