/** The messages between the conductor and a client process. */
import type { ErrandKind, Pace } from '../generator/errand.ts'
import type { LineSpec } from '../history/event.ts'

/**
 * At its birth, as JSON in this variable of its environment: arguments can be read by every user of the machine, and a
 * URL may hold a password.
 */
export const BIRTH = 'HOLDFAST_TORTURE_BIRTH'

export interface Birth {
  readonly p: string
  readonly url: string
  readonly ttlMs: number
  readonly seed: number
  readonly lines: readonly LineSpec[]
  /** The file for its part of the history. */
  readonly history: string
  /** The path of its socket. */
  readonly referee: string
  /** The module of the client under test. */
  readonly module: string
  readonly config: string
  /** How many visits the process makes at once. */
  readonly tasks: number
  readonly variant: number
  readonly pace: Pace
  /** The errands that the process may get. */
  readonly errands: readonly ErrandKind[]
}

export type Order = { readonly order: 'stop' } | { readonly order: 'block'; readonly ms: number }

export interface Ready {
  readonly ready: true
}
