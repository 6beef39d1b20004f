/**
 * A guard for data in the same etcd: a compare for the caller's own transaction, which fails once the place is gone.
 */
import { UsageError } from '../contract/errors.ts'
import type { Held } from '../hold/held.ts'
import type { EtcdGuard, EtcdStore } from '../stores/etcd/guard.ts'
import { credentialOf, proofOf } from './proof.ts'

/**
 * The compare of a hold: IF the place stands THEN write. The guard remembers nothing, because etcd itself knows who
 * holds the place. Take the lock with `fairness: 'strict'`, or use an election: callers that share a place share its
 * key.
 */
export function etcdGuard(store: EtcdStore, held: Held): EtcdGuard {
  const { line } = proofOf(held)
  if (credentialOf(held) === null) {
    throw new UsageError("etcd's compare needs the hold itself, in the process that has it, not its proof", { line })
  }
  return store.guard(held)
}
