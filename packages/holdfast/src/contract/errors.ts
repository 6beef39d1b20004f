/**
 * Every error that Holdfast throws. Contention, time-out, outage and loss have classes of their own, and none stands in
 * for another.
 */

interface ErrorDetail {
  /** The line that the error is about. */
  readonly line?: string
  readonly cause?: unknown
}

/** The base of all Holdfast errors. `code` is stable, for programs; the message is for people. */
export abstract class HoldfastError extends Error {
  /** Stable, for programs: `HF_LOST`, `HF_TIMEOUT` and so on. */
  abstract readonly code: string
  /** The lock that the error is about. */
  readonly line?: string

  constructor(message: string, detail: ErrorDetail = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause })
    this.name = new.target.name
    if (detail.line !== undefined) this.line = detail.line
  }
}

/** Others kept the lock for all of `waitMs`. You hold nothing, and no place is left behind. */
export class AcquireTimeoutError extends HoldfastError {
  readonly code = 'HF_TIMEOUT'
}

/** The hold ended without a release: its lease lapsed, or may have. Stop using what the lock protects. */
export class LockLostError extends HoldfastError {
  readonly code = 'HF_LOST'
  /** What the work returned, if the work finished although the lock had been lost. */
  readonly result?: unknown

  constructor(message: string, detail: ErrorDetail & { readonly result?: unknown } = {}) {
    super(message, detail)
    if ('result' in detail) this.result = detail.result
  }
}

/** You released this handle earlier. */
export class NotHeldError extends HoldfastError {
  readonly code = 'HF_NOT_HELD'
}

/** Others use the lock with another capacity: for example a semaphore of 3 and another of 5 under one name. */
export class CapacityMismatchError extends HoldfastError {
  readonly code = 'HF_CAPACITY'
}

/** The wait would never end: somebody who waits for what you hold has what you ask for. */
export class DeadlockError extends HoldfastError {
  readonly code = 'HF_DEADLOCK'
}

/** The clocks of two hosts differ by more than the period of a job. The message names the other host. */
export class ClockError extends HoldfastError {
  readonly code = 'HF_CLOCK'
}

/** The store can't do what you asked for; the message gives the reason. */
export class UnsupportedError extends HoldfastError {
  readonly code = 'HF_UNSUPPORTED'
}

/** The store answered with an error that another try will not mend. */
export class StoreError extends HoldfastError {
  readonly code: string = 'HF_STORE'
}

/** The store did not answer. Nobody knows whether the request took effect. */
export class StoreUnreachableError extends StoreError {
  override readonly code: string = 'HF_UNREACHABLE'
}

/** An option, a name or a URL is wrong. Thrown before any I/O. */
export class UsageError extends HoldfastError {
  readonly code = 'HF_USAGE'
}

/** An optional client package is not installed; the message names it. */
export class MissingClientError extends HoldfastError {
  readonly code = 'HF_MISSING_CLIENT'
}

/** A guard has already seen a newer token than the given one. */
export class StaleTokenError extends HoldfastError {
  readonly code = 'HF_STALE_TOKEN'
  /** The token that the guard refused. */
  readonly given: bigint
  /** The newest token that the guard has seen. */
  readonly newest: bigint

  constructor(message: string, detail: ErrorDetail & { readonly given: bigint; readonly newest: bigint }) {
    super(message, detail)
    this.given = detail.given
    this.newest = detail.newest
  }
}

/** A request may or may not have taken effect, and nobody can find out any more. */
export class OutcomeUnknownError extends HoldfastError {
  readonly code = 'HF_UNKNOWN'
}

/** The Holdfast instance was closed. */
export class ClosedError extends HoldfastError {
  readonly code = 'HF_CLOSED'
}
