/** What a guard may know of a hold: its token, and a name of its place that does not reveal the place's id. */
import { createHash } from 'node:crypto'
import type { Mode } from '../acquire/spec.ts'

export interface Credential {
  readonly line: string
  readonly token: bigint
  /**
   * 16 hex digits of a digest of the place's id. Whoever knows the id can act as the owner, so guards never see the id.
   */
  readonly place: string
  /** Only 'exclusive' holds have an order among themselves. */
  readonly mode: Mode
  /** Nobody else ever gets the same place. */
  readonly alone: boolean
  /** The store's tokens rise. */
  readonly fenced: boolean
}

export function placeDigest(id: string): string {
  return createHash('sha256').update('holdfast place\0').update(id).digest('hex').slice(0, 16)
}
