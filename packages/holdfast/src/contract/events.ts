/**
 * What happens to locks, told by node:diagnostics_channel. Whoever publishes asks `hasSubscribers` first: nothing is
 * made while nobody listens. docs/reference/events.md is the reference.
 */
import { channel } from 'node:diagnostics_channel'
import type { PlaceView } from './driver.ts'

/** Where an event comes from. */
export interface EventSource {
  /** The kind of store, as `redis`. */
  readonly store: string
  /** Counts the Holdfast instances of this process, from 1. */
  readonly instance: number
}

/** What every event about one lock says. */
export interface LockEvent extends EventSource {
  readonly lock: string
}

/** What every event about one caller's request says. */
export interface RequestEvent extends LockEvent {
  /** Counts the requests of this process, from 1. The same in all events of one request. */
  readonly request: number
}

/** A caller asks for a lock. Ends with exactly one of acquired, refused, timed-out, aborted, failed. */
export interface RequestedEvent extends RequestEvent {
  /** How long the caller is ready to wait; 0 is one try. */
  readonly waitMs: number
  /** How much of the lock it wants, and how much there is: 1 of 1 for a mutex. */
  readonly weight: number
  readonly capacity: number
}

/** A caller has to wait; again, when it goes on waiting elsewhere. */
export interface WaitingEvent extends RequestEvent {
  /** In the store: the weight of all in front. In this process: how many callers are in front. */
  readonly position: number
  /** `store`: others hold the lock there. `process`: callers of this process are in front. */
  readonly where: 'store' | 'process'
  /** Asks the store who holds the lock now; empty: nobody does any more. Rejects while the store does not answer. */
  holders(): Promise<readonly PlaceView[]>
}

/** A hold begins; once for a hold and all its re-entries. Ends with exactly one of released, lost. */
export interface AcquiredEvent extends RequestEvent {
  readonly token: bigint
  readonly waitedMs: number
  /** `store`: the store gave it. `process`: it was here already, and was handed over without asking the store. */
  readonly by: 'store' | 'process'
}

/** A caller has gone without the lock. */
export interface GoneEvent extends RequestEvent {
  readonly waitedMs: number
}

/** A caller got an error: the store does not answer, refuses, or the instance was closed. */
export interface FailedEvent extends GoneEvent {
  readonly error: unknown
}

/** The store answered one heartbeat, or did not. */
export interface RenewedEvent extends EventSource {
  /** The locks whose leases were renewed in this one request; if it failed, those that it was for. */
  readonly locks: readonly string[]
  /** How long the store took to answer. */
  readonly durationMs: number
  /** Absent when the store answered. */
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
 * Why a hold was lost. `lapsed`: its lease ran out by this process's own clock. `gone`: the store says so; somebody
 * broke the lock, or the lease ran out there. `max-hold`: after `maxHoldMs`. `not-alive`: `aliveIf` said no. `silent`:
 * the worker gave up a thread that was blocked for longer than `silenceMs`.
 */
export type LossCause = 'lapsed' | 'gone' | 'max-hold' | 'not-alive' | 'silent'

/** A hold ended without being released. */
export interface LostEvent extends LockEvent {
  readonly token: bigint
  readonly heldMs: number
  /** Why, for programs. */
  readonly cause: LossCause
  /** The same for people, with what is known. */
  readonly reason: string
}

/** A hold was released or exported, or its instance was closed. */
export interface ReleasedEvent extends LockEvent {
  readonly token: bigint
  readonly heldMs: number
}

/** This process has broken a lock. */
export interface BrokenEvent extends LockEvent {
  /** Whether others were served at once. */
  readonly now: boolean
  /** How many holders it was taken from. */
  readonly holders: number
}

/** A candidate leads from now on. */
export interface ElectedEvent extends LockEvent {
  readonly token: bigint
  /** What the candidate shows of itself. */
  readonly value: string
}

/** A leader leads no more: it resigned, its work ended, or it lost the election's lock. */
export interface ResignedEvent extends LockEvent {
  readonly token: bigint
}

/** A rate limit said no. */
export interface LimitedEvent extends EventSource {
  /** The name of the limiter. */
  readonly limiter: string
  /** Who was refused. */
  readonly key: string
  /** Until the same would be allowed. */
  readonly retryMs: number
  /** The key is shut for a time, because its caller went on asking. */
  readonly shut: boolean
}

/** A guard refused a token that is older than one it has seen. */
export interface FenceRefusedEvent {
  /** What the guard protects. */
  readonly resource: string
  /** The lock whose token was given. */
  readonly lock: string
  /** The token that was refused. */
  readonly given: bigint
  /** The newest token that the guard has seen. */
  readonly newest: bigint
}

/** Something failed in the background, and nobody could be told by a rejection. */
export interface ErrorEvent {
  /** The lock, job or limiter it happened to. */
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

/** A channel that takes one kind of event. */
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

/** The number of a request that somebody listens to. */
export function nextRequest(): number {
  return ++requests
}

export const diagnostics = {
  failed(lock: string, error: unknown): void {
    if (channels.error.hasSubscribers) channels.error.publish({ lock, error })
  },
}
