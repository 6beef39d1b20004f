/** The options of a run. */
import type { Backend } from '../backend/backend.ts'
import type { ErrandKind, Pace } from '../generator/errand.ts'
import type { LineKind } from '../history/event.ts'
import type { NemesisName } from '../nemesis/names.ts'

export interface RunOptions {
  /** The store under test, as we started it; null: somebody else's, at `url`. */
  readonly backend: Backend | null
  readonly url: string
  /** The lease. */
  readonly ttlMs: number
  /** How long the run makes faults. */
  readonly chaosMs: number
  readonly seed: number
  readonly clients: number
  /** Visits that each client makes at once. */
  readonly tasks: number
  /** How many lines, or of which kinds. */
  readonly lines: number | readonly LineKind[]
  /** null: everything that can be had. */
  readonly nemeses: readonly NemesisName[] | null
  readonly pace: Omit<Pace, 'ttlMs'>
  /** The errands of clients; null: all that the store can do. */
  readonly errands: readonly ErrandKind[] | null
  /** How long a holder is suspended; null: ten leases. */
  readonly suspendMs: number | null
  /** The module of the client under test; null: Holdfast. */
  readonly module: { readonly href: string; readonly config: string } | null
  /** The file of the history. */
  readonly history: string
  /** How long the clients go on after the faults; null: two leases, and a second at least. */
  readonly quietMs: number | null
  /** How long a client that was told to stop may take, and a fresh client for each line. */
  readonly patienceMs: number
  readonly onProgress: (progress: Progress) => void
  readonly signal: AbortSignal
}

export interface Progress {
  readonly phase: 'start' | 'chaos' | 'quiet' | 'end'
  readonly elapsedMs: number
  readonly visits: number
  readonly faults: number
  /** The last fault, and whom it hit. */
  readonly fault: string
  /** Who is inside now. */
  readonly holders: string
  /** How often somebody acted between the steps of another, who should have been alone. */
  readonly crowded: number
}

/** Why a fault was left out on purpose, although the store could have it. */
export const NOT_ASKED = 'not asked for'

export interface NotRun {
  /** The fault, or the errand. */
  readonly nemesis: NemesisName | ErrandKind
  readonly why: string
}
