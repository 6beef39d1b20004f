/**
 * Events about locks, over node:diagnostics_channel. A publisher asks `hasSubscribers` first, so that no event is made
 * while nobody listens. docs/reference/events.md is the reference.
 */
import { channel } from 'node:diagnostics_channel'
import type { PlaceView } from './driver.ts'

/** Where an event comes from. */
export interface EventSource {
  /** The kind of store, such as `redis`. */
  readonly store: string
  /** The number of the instance; instances of this process are counted from 1. */
  readonly instance: number
}

/** What every event about one lock says. */
export interface LockEvent extends EventSource {
  readonly lock: string
}

/** What every event about one caller's request says. */
export interface RequestEvent extends LockEvent {
  /**
   * The number of the request; requests of this process are counted from 1. All events of one request have the same.
   */
  readonly request: number
}

/** A caller asks for a lock. Exactly one of acquired, refused, timed-out, aborted, failed follows. */
export interface RequestedEvent extends RequestEvent {
  /** How long the caller is ready to wait; 0 is one try. */
  readonly waitMs: number
  /** How much of the lock the caller wants, and how much there is: 1 of 1 for a mutex. */
  readonly weight: number
  readonly capacity: number
}

/** A caller has to wait. The event comes again when the caller goes on waiting elsewhere. */
export interface WaitingEvent extends RequestEvent {
  /** In the store: the weight of all places ahead. In this process: how many callers are ahead. */
  readonly position: number
  /** `store`: others hold the lock there. `process`: callers of this process are ahead. */
  readonly where: 'store' | 'process'
  /** Asks the store who holds the lock now. Empty: no holder any more. Rejects while the store does not answer. */
  holders(): Promise<readonly PlaceView[]>
}

/** A hold begins; one event for a hold with all its re-entries. Exactly one of released, lost follows. */
export interface AcquiredEvent extends RequestEvent {
  readonly token: bigint
  readonly waitedMs: number
  /**
   * `store`: the store gave the lock. `process`: this process had the lock, and handed it over without asking the
   * store.
   */
  readonly by: 'store' | 'process'
}

/** A caller leaves without the lock. */
export interface GoneEvent extends RequestEvent {
  readonly waitedMs: number
}

/** A caller got an error: the store does not answer or refuses, or the instance was closed. */
export interface FailedEvent extends GoneEvent {
  readonly error: unknown
}

/** The store answered one heartbeat, or did not. */
export interface RenewedEvent extends EventSource {
  /** The locks whose leases this one request renewed; if the request failed, the locks that it was for. */
  readonly locks: readonly string[]
  /** How long the store took to answer. */
  readonly durationMs: number
  /** Absent if the store answered. */
  readonly error?: unknown
}

/** A renewal has failed; the lease still runs. */
export interface AtRiskEvent extends LockEvent {
  readonly token: bigint
  /** What is left of the lease. */
  readonly remainingMs: number
  /** Why the renewal failed. */
  readonly error: unknown
}

/**
 * Why a hold was lost.
 * - `lapsed`: its lease ran out by this process's own clock.
 * - `gone`: the store says so. Somebody broke the lock, or the lease ran out there.
 * - `max-hold`: after `maxHoldMs`.
 * - `not-alive`: `aliveIf` said no.
 * - `silent`: the thread was blocked for longer than `silenceMs`, and the worker gave up.
 */
export type LossCause = 'lapsed' | 'gone' | 'max-hold' | 'not-alive' | 'silent'

/** A hold ended without a release. */
export interface LostEvent extends LockEvent {
  readonly token: bigint
  readonly heldMs: number
  /** Why, for programs. */
  readonly cause: LossCause
  /** The same for people, with what is known. */
  readonly reason: string
}

/** A holder released or exported its hold, or the instance was closed. */
export interface ReleasedEvent extends LockEvent {
  readonly token: bigint
  readonly heldMs: number
}

/** This process has broken a lock. */
export interface BrokenEvent extends LockEvent {
  /** Whether others got the lock at once. */
  readonly now: boolean
  /** How many holders lost the lock. */
  readonly holders: number
}

/** A candidate leads from now on. */
export interface ElectedEvent extends LockEvent {
  readonly token: bigint
  /** What the candidate says about itself. */
  readonly value: string
}

/** A leader leads no more: it resigned, its work ended, or it lost the lock of the election. */
export interface ResignedEvent extends LockEvent {
  readonly token: bigint
}

/** A rate limit refused a call. */
export interface LimitedEvent extends EventSource {
  /** The name of the limiter. */
  readonly limiter: string
  /** The key that was refused. */
  readonly key: string
  /** How long until the limiter would allow the same call. */
  readonly retryMs: number
  /** True: the key is shut for a time, because its caller went on asking. */
  readonly shut: boolean
}

/** A guard refused a token that is older than another one it has seen. */
export interface FenceRefusedEvent {
  /** What the guard protects. */
  readonly resource: string
  /** The lock that the token is of. */
  readonly lock: string
  /** The token that the guard refused. */
  readonly given: bigint
  /** The newest token that the guard has seen. */
  readonly newest: bigint
}

/** Something failed in the background, where no rejection could reach a caller. */
export interface ErrorEvent {
  /** The lock, job or limiter that failed. */
  readonly lock: string
  readonly error: unknown
}

/** The channels and what they carry: subscribe to `holdfast:acquired` and so on. */
export interface Events {
  readonly requested: RequestedEvent
  readonly waiting: WaitingEvent
  readonly acquired: AcquiredEvent
  readonly refused: GoneEvent
  readonly 'timed-out': GoneEvent
  readonly aborted: GoneEvent
  readonly failed: FailedEvent
  readonly renewed: RenewedEvent
  readonly 'at-risk': AtRiskEvent
  readonly lost: LostEvent
  readonly released: ReleasedEvent
  readonly broken: BrokenEvent
  readonly elected: ElectedEvent
  readonly resigned: ResignedEvent
  readonly limited: LimitedEvent
  readonly 'fence-refused': FenceRefusedEvent
  readonly error: ErrorEvent
}

/** A channel for one kind of event. */
export interface EventChannel<E> {
  readonly hasSubscribers: boolean
  publish(event: E): void
}

export const channels: { readonly [K in keyof Events]: EventChannel<Events[K]> } = {
  requested: channel('holdfast:requested'),
  waiting: channel('holdfast:waiting'),
  acquired: channel('holdfast:acquired'),
  refused: channel('holdfast:refused'),
  'timed-out': channel('holdfast:timed-out'),
  aborted: channel('holdfast:aborted'),
  failed: channel('holdfast:failed'),
  renewed: channel('holdfast:renewed'),
  'at-risk': channel('holdfast:at-risk'),
  lost: channel('holdfast:lost'),
  released: channel('holdfast:released'),
  broken: channel('holdfast:broken'),
  elected: channel('holdfast:elected'),
  resigned: channel('holdfast:resigned'),
  limited: channel('holdfast:limited'),
  'fence-refused': channel('holdfast:fence-refused'),
  error: channel('holdfast:error'),
}

let requests = 0

/** Gives the next request its number. Call it only if somebody listens. */
export function nextRequest(): number {
  return ++requests
}

export const diagnostics = {
  failed(lock: string, error: unknown): void {
    if (channels.error.hasSubscribers) channels.error.publish({ lock, error })
  },
}
