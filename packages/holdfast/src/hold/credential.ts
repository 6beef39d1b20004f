/** What a guard may know of a hold: its token, and a name of its place that does not give away the place's id. */
import { createHash } from 'node:crypto'
import type { Mode } from '../acquire/spec.ts'

/** A place can be issued this often; its tokens differ in their last ten bits. */
export const ISSUES_PER_PLACE = 1024n
/** The number of its last issue. */
export const ISSUE_MAX = 1023

export interface Credential {
  readonly line: string
  readonly token: bigint
  /** 16 hex digits of a digest of the place's id: who knows the id can forge the owner, so guards never see it. */
  readonly place: string
  /** Only 'exclusive' holds have an order among themselves. */
  readonly mode: Mode
  /** Nobody else is ever given the same place. */
  readonly alone: boolean
  /** The store's tokens rise. */
  readonly fenced: boolean
}

export function placeDigest(id: string): string {
  return createHash('sha256').update('holdfast place\0').update(id).digest('hex').slice(0, 16)
}
