/** The errands of a client. */
import type { LineSpec } from '../history/event.ts'

export const ERRANDS = ['visit', 'upgrade', 'several', 'readers'] as const

export type ErrandKind = (typeof ERRANDS)[number]

interface Rested {
  /** How long to rest before the errand. */
  readonly restMs: number
}

/** One visit to one line. */
export interface Visit extends Rested {
  readonly kind: 'visit'
  readonly line: LineSpec
  readonly exclusive: boolean
  readonly weight: number
  /** 0: one try. */
  readonly waitMs: number
  /** How long to stay inside. */
  readonly stayMs: number
}

/** Reads, and then writes without letting go. */
export interface Upgrade extends Rested {
  readonly kind: 'upgrade'
  readonly line: LineSpec
  readonly waitMs: number
  /** How long to read before each write. */
  readonly stayMs: number
  readonly writes: readonly { readonly waitMs: number; readonly stayMs: number }[]
}

/** Several lines as one, all or nothing; now and then the caller gives up half-way. */
export interface Several extends Rested {
  readonly kind: 'several'
  readonly lines: readonly LineSpec[]
  readonly waitMs: number
  readonly stayMs: number
  /** When the caller gives up, counted from its request; null: never. */
  readonly abortMs: number | null
}

/** A crowd of readers of one process: most at once, the others while those are inside and writers have come to wait. */
export interface Readers extends Rested {
  readonly kind: 'readers'
  readonly line: LineSpec
  readonly readers: readonly { readonly afterMs: number; readonly waitMs: number; readonly stayMs: number }[]
}

export type Errand = Visit | Upgrade | Several | Readers

export interface Pace {
  /** The longest stay; the shortest is 0. */
  readonly stayMs: number
  readonly restMs: number
  readonly waitMs: number
  /** One of so many stays outlives the lease; 0: none. */
  readonly longEvery: number
  readonly ttlMs: number
}
