/** A planted fault: a lock with a mistake that others have made. The torture must find it. */
import type { Claim, LockClient, Wish } from '../client/lock-client.ts'
import type { Rule } from '../checker/finding.ts'
import type { ErrandKind } from '../generator/errand.ts'
import type { LineKind } from '../history/event.ts'
import type { NemesisName } from '../nemesis/names.ts'
import type { Bench } from './bench.ts'

/** One try: a claim, or null if others have it. */
export type Try = (wish: Wish) => Promise<Claim | null>

/** What every planted fault says of itself, and how its run goes. */
export interface Planted {
  readonly name: string
  /** The mistake, in a sentence. */
  readonly mistake: string
  /** Who made this mistake. */
  readonly seen: string
  /** The faults that bring it out. */
  readonly nemeses: readonly NemesisName[]
  /** Any of these rules must be found broken. */
  readonly breaks: readonly Rule[]
  /** Default: one mutex. */
  readonly kinds?: readonly LineKind[]
  /** The lease; default 300. */
  readonly ttlMs?: number
  /** One of so many stays outlives the lease; default 0: none. */
  readonly longEvery?: number
  /** The longest stay; default 25. */
  readonly stayMs?: number
  /** The longest wait; default 4 000. */
  readonly waitMs?: number
  /** How long the clients go on after the faults; default: as for any other run. */
  readonly quietMs?: number
  /** Client processes; default 3. */
  readonly clients?: number
  /** Visits that each process makes at once; default 1. */
  readonly tasks?: number
  /** Whether it claims to serve in order; default false. */
  readonly fair?: boolean
  /** Whether it claims that its tokens rise; default false. */
  readonly fenced?: boolean
  /** Default 'redis'. */
  readonly store?: 'redis' | 'redlock'
  /** The errands of its clients; default: visits only. */
  readonly errands?: readonly ErrandKind[]
}

/** A lock of its own. */
export interface MadeMutant extends Planted {
  /** Makes the function of one try, which is repeated until the wait is over. */
  make(bench: Bench): Try
}

/** Holdfast, with a mistake put around it. */
export interface WrappedMutant extends Planted {
  wrap(client: LockClient): LockClient
}

export type Mutant = MadeMutant | WrappedMutant
