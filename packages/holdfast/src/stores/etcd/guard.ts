/**
 * The checking side, for data in the same etcd: a write that carries the guard's compare happens only while the place
 * stands.
 */
import { UsageError } from '../../contract/errors.ts'
import { ISSUES_PER_PLACE } from '../../hold/token.ts'
import type { Driver } from '../../contract/driver.ts'
import type { Compare } from '../../clients/etcd/index.ts'

/** Put it into the transaction that writes what the lock protects: IF these hold THEN write. */
export interface EtcdGuard {
  /** The key of the place. */
  readonly key: Uint8Array
  /** Its create revision, for another client's compare: `create(key) = createRevision`. */
  readonly createRevision: bigint
  /** The same as a compare of Holdfast's own client. */
  readonly compare: Compare
}

/** The etcd driver, with the guard that only etcd offers. */
export interface EtcdStore extends Driver {
  /**
   * The guard of a hold. Take the lock with `fairness: 'strict'`: callers that share a place share its key, so the
   * compare could not tell them apart.
   */
  guard(held: { readonly name: string; readonly token: bigint }): EtcdGuard
}

/** The store's own number of the hold's place. */
export function storeToken(held: { readonly name: string; readonly token: bigint }): bigint {
  // The token of a shared place's first holder looks the same, but its place may be handed on while that holder is
  // paused.
  const { credential } = held as { readonly credential?: { readonly alone: boolean } }
  if (held.token % ISSUES_PER_PLACE !== 0n || credential?.alone === false) {
    throw new UsageError(
      `lock ${JSON.stringify(held.name)}: a guard needs a hold of its own; take the lock with fairness ` +
        `'strict', or with handovers 0`,
      { line: held.name },
    )
  }
  return held.token / ISSUES_PER_PLACE
}

export function guardOf(held: { readonly name: string; readonly token: bigint }, key: Buffer): EtcdGuard {
  const createRevision = storeToken(held)
  return { key, createRevision, compare: { target: 'create', result: '=', key, createRevision } }
}
