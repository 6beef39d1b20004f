/**
 * A guard for what the same etcd keeps: a compare for the caller's own transaction, which fails once the place is gone.
 */
import { UsageError } from '../contract/errors.ts'
import type { Held } from '../hold/held.ts'
import type { EtcdGuard, EtcdStore } from '../stores/etcd/guard.ts'
import { credentialOf, proofOf } from './proof.ts'

/**
 * The compare of a hold: IF it stands THEN write. Nothing is remembered: etcd itself knows who holds the place. The
 * lock must be taken with `fairness: 'strict'`, or be an election's: callers that share a place share its key.
 */
export function etcdGuard(store: EtcdStore, held: Held): EtcdGuard {
  const { line } = proofOf(held)
  if (credentialOf(held) === null) {
    throw new UsageError("etcd's compare needs the hold itself, in the process that has it, not its proof", { line })
  }
  return store.guard(held)
}
