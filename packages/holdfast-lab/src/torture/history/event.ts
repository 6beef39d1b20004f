/**
 * The events of a history: one JSON object a line, stamped by the monotonic clock that all processes of a host share.
 */

/** ok: it took effect. fail: it did not. unknown: it may have, or may yet. */
export type Outcome = 'ok' | 'fail' | 'unknown'

export type LineKind = 'mutex' | 'rw' | 'semaphore'

export interface LineSpec {
  readonly name: string
  readonly kind: LineKind
  readonly capacity: number
}

/** Microseconds of CLOCK_MONOTONIC; never the wall clock, which a nemesis may move. */
export type Micros = number

interface At {
  readonly t: Micros
}

/** These two together name one operation of a client process. */
interface Of extends At {
  /** The process: `c2`, and after its first death `c2.1`. */
  readonly p: string
  /** The number of the visit in that process. */
  readonly i: number
}

/** The head of a history. */
export interface RunEvent extends At {
  readonly e: 'run'
  readonly format: 1
  readonly seed: number
  /** Without a password. */
  readonly store: string
  readonly versions: string
  readonly ttlMs: number
  readonly clients: number
  readonly lines: readonly LineSpec[]
  /** Whether the store promises first come, first served. */
  readonly fair: boolean
  /** Whether its tokens are promised to rise. */
  readonly fenced: boolean
  /** How long the store itself may take to be back after a fault. */
  readonly failoverMs: number
}

export interface AcquireEvent extends Of {
  readonly e: 'acquire'
  readonly line: string
  readonly weight: number
  /** Alone in the line; else shared with others, by weight. */
  readonly exclusive: boolean
  /** 0: one try. */
  readonly waitMs: number
  /** The number of the visit whose own place is to become this heavy: an upgrade. */
  readonly over?: number
  /** The errand of the client, if it was more than this visit. */
  readonly errand?: string
}

export interface AcquiredEvent extends Of {
  readonly e: 'acquired'
  readonly outcome: Outcome
  /** Decimal; absent where there is none. */
  readonly token?: string
  /** The local deadline; absent where the client knows of none. */
  readonly until?: Micros
  readonly error?: string
  /** Granted although the caller had given up before. */
  readonly aborted?: true
}

/** The client was told, or found out, that it has lost the lock. */
export interface LostEvent extends Of {
  readonly e: 'lost'
}

export interface ReleaseEvent extends Of {
  readonly e: 'release'
  readonly until?: Micros
}

export interface ReleasedEvent extends Of {
  readonly e: 'released'
  readonly outcome: Outcome
  readonly error?: string
}

/**
 * A step on the protected resource, as the referee saw it. The order of these in the history is the order they took
 * effect in.
 */
export interface EffectEvent extends Of {
  readonly e: 'effect'
  readonly line: string
  readonly what: 'read' | 'write'
  /** When the client began the step, with the check that it still holds. */
  readonly begun: Micros
  /** The client's local deadline at that moment; absent where it knows of none. */
  readonly until?: Micros
  readonly token?: string
  /** Whether the resource that checks tokens let it through; the other resource lets everything through. */
  readonly accepted: boolean
  /**
   * How long the lists of the line were when the step came: the one that everything reaches, and the one that checks
   * tokens. An exclusive write adds one element to each that it reaches. Absent in histories of older versions.
   */
  readonly saw?: { readonly open: number; readonly guarded: number }
}

/** A fault is about to be made. */
export interface FaultEvent extends At {
  readonly e: 'fault'
  readonly id: number
  readonly nemesis: string
  readonly target: string
  /** The store may forget or lapse grants by this fault, and its page in docs says so. */
  readonly forgets: boolean
  /** The only line that the fault hits; absent: all lines. */
  readonly line?: string
}

/** The fault is over. Between `from` and `to` it was certainly in force. */
export interface HealedEvent extends At {
  readonly e: 'healed'
  readonly id: number
  readonly from: Micros
  readonly to: Micros
  /** For so long afterwards the store may still act on what it forgot, as a deposed primary does. */
  readonly graceMs: number
  /** What failed when the fault was made or mended. */
  readonly error?: string
}

/** A client process stood still for so long by itself: its event loop was blocked. */
export interface BlockedEvent extends At {
  readonly e: 'blocked'
  readonly p: string
  readonly from: Micros
}

/** The store woke a waiter of the line. */
export interface WokenEvent extends At {
  readonly e: 'woken'
  readonly p: string
  readonly line: string
}

/** The store answered that a place of this process stands in the line and has to wait. */
export interface QueuedEvent extends At {
  readonly e: 'queued'
  readonly p: string
  readonly line: string
  readonly exclusive: boolean
}

export interface PhaseEvent extends At {
  readonly e: 'phase'
  readonly name: 'chaos' | 'quiet' | 'stopping' | 'end'
}

/** A fresh client asked for a line after everything was mended. */
export interface ProbeEvent extends At {
  readonly e: 'probe'
  readonly line: string
  readonly outcome: Outcome
  readonly tookMs: number
  readonly error?: string
}

/** What the store still shows of a line after all clients have gone. */
export interface LeftEvent extends At {
  readonly e: 'left'
  readonly line: string
  readonly holders: number
  readonly waiters: number
}

/** A client process has ended. */
export interface ExitEvent extends At {
  readonly e: 'exit'
  readonly p: string
  readonly how: 'killed' | 'stopped' | 'stuck' | 'crashed'
  readonly detail?: string
}

export type HistoryEvent =
  | RunEvent
  | AcquireEvent
  | AcquiredEvent
  | LostEvent
  | ReleaseEvent
  | ReleasedEvent
  | EffectEvent
  | FaultEvent
  | HealedEvent
  | BlockedEvent
  | WokenEvent
  | QueuedEvent
  | PhaseEvent
  | ProbeEvent
  | LeftEvent
  | ExitEvent
