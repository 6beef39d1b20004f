/**
 * What the console's server sends to its page, as JSON. Moments are milliseconds since 1970 by the clock of the
 * console.
 */

/** A holder or a waiter. */
export interface Party {
  /** Decimal: as a number it would be rounded above 2^53. */
  readonly token: string
  readonly label: string
  readonly host: string
  readonly pid: number
  readonly weight: number
  /** When this party asked for the lock. */
  readonly askedMs: number
  /** What a candidate of an election says about itself. */
  readonly value?: string
}

export interface HolderParty extends Party {
  /** When the console saw this party get the lock; absent if the party held it before the console looked. */
  readonly gotMs?: number
  /** When its lease ends, unless it is renewed. */
  readonly endMs: number
  /** The longest lease that the console saw of this holder: the length of a full bar. */
  readonly leaseMs: number
  /** This console broke the lock: the lease is not renewed any more. */
  readonly broken?: true
}

export type Kind = 'mutex' | 'election' | 'semaphore' | 'read-write'

/** One lock in the list. */
export interface Row {
  readonly name: string
  readonly kind: Kind
  readonly capacity: number
  /** The first holders; `held` says how many there are. */
  readonly holders: readonly HolderParty[]
  readonly held: number
  readonly waiting: number
  /** When the waiter asked that has waited longest; null: nobody waits. */
  readonly oldestMs: number | null
  /** Hand-overs that the console has seen. */
  readonly handovers: number
}

export type EventKind =
  | 'handed over'
  | 'acquired'
  | 'released'
  | 'ran out'
  /** Reported by its holder, with the reason. */
  | 'lost'
  /** Reported by a waiter that gave up. */
  | 'timed out'
  | 'broken'
  | 'elected'
  | 'deadlock'
  | 'store lost'
  | 'store back'

/** An event that the console has seen. */
export interface Happening {
  readonly id: number
  readonly atMs: number
  readonly kind: EventKind
  /** '' if the event is about the store. */
  readonly lock: string
  /** Who got or lost the lock; '' if nobody did. */
  readonly who: string
  readonly token: string
  readonly note: string
}

/** One look at the store, in numbers. */
export interface Point {
  readonly atMs: number
  readonly held: number
  readonly waiting: number
  readonly handovers: number
  /** Leases that ran out, breaks, and what holders report as lost; each hold once. */
  readonly losses: number
}

export interface CirclePart {
  readonly lock: string
  readonly who: string
  readonly askedMs: number
  /** What the waiter holds meanwhile. */
  readonly holds: readonly string[]
}

/** How a run of a job ended. `died`: the next run began, and this one had not reported its end. */
export type RunEnd = 'ok' | 'failed' | 'running' | 'died'

export interface JobView {
  readonly name: string
  readonly startedMs: number
  readonly endedMs: number | null
  readonly ok: boolean | null
  readonly who: string
  /** The last runs that the console has seen, the oldest first. */
  readonly runs: readonly RunEnd[]
}

export interface LimiterView {
  readonly name: string
  readonly key: string
  readonly limit: number
  readonly perMs: number
  readonly burst: number
  readonly remaining: number
  readonly retryMs: number
  readonly shut: boolean
  /** What the reporting processes asked for, of all keys together; 0 if none reports. */
  readonly allowed: number
  readonly refused: number
  /** When the console looked: reported limiters are looked at in turn. */
  readonly atMs: number
}

/** The small things, which each look sends as a whole. */
export interface Head {
  readonly atMs: number
  /** Time until the next look. */
  readonly everyMs: number
  readonly store: { readonly url: string; readonly state: 'starting' | 'up' | 'down'; readonly sinceMs: number }
  /** Why the store is down; '' otherwise. */
  readonly error: string
  readonly allowBreak: boolean
  readonly circles: readonly (readonly CirclePart[])[]
  readonly jobs: readonly JobView[]
  readonly limiters: readonly LimiterView[]
  /** Events since the last message; in the first message, all that the console keeps. */
  readonly events: readonly Happening[]
  readonly points: readonly Point[]
}

/** The first message of a stream (`all`): every lock. */
export interface All extends Head {
  readonly rows: readonly Row[]
}

/** Each later message (`change`): the locks that have changed, and the names of those that nobody uses any more. */
export interface Changes extends Head {
  readonly rows: readonly Row[]
  readonly gone: readonly string[]
}

/** When somebody held a lock, as far as the console saw it. */
export interface Span {
  readonly who: string
  readonly token: string
  readonly fromMs: number
  /** null: still held. */
  readonly toMs: number | null
  readonly end: 'released' | 'ran out' | 'broken' | null
}

/** Everything about one lock. */
export interface Detail {
  readonly row: Row | null
  readonly holders: readonly HolderParty[]
  /** In the order of the queue. */
  readonly waiters: readonly Party[]
  readonly spans: readonly Span[]
  readonly events: readonly Happening[]
}

/** The body of `POST api/break`. */
export interface BreakOrder {
  readonly name: string
  readonly now: boolean
  /** The tokens of the holders that the person saw. */
  readonly tokens: readonly string[]
}
