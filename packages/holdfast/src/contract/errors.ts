/**
 * Every error Holdfast throws. Contention, time-out, outage and loss are different classes and never stand in for one
 * another.
 */

interface ErrorDetail {
  /** The line the error is about. */
  readonly line?: string
  readonly cause?: unknown
}

/** The base of all Holdfast errors; `code` is stable, the message is for people. */
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

/** The line was contended for all of `waitMs`. Nothing is held and no place is left behind. */
export class AcquireTimeoutError extends HoldfastError {
  readonly code = 'HF_TIMEOUT'
}

/** The hold ended without being released: its lease lapsed, or may have. Stop acting on what it protected. */
export class LockLostError extends HoldfastError {
  readonly code = 'HF_LOST'
  /** What the work returned, when it finished although the lock had been lost. */
  readonly result?: unknown

  constructor(message: string, detail: ErrorDetail & { readonly result?: unknown } = {}) {
    super(message, detail)
    if ('result' in detail) this.result = detail.result
  }
}

/** The handle was released by its own owner earlier. */
export class NotHeldError extends HoldfastError {
  readonly code = 'HF_NOT_HELD'
}

/** The line is in use with another capacity: for example a semaphore of 3 and one of 5 under one name. */
export class CapacityMismatchError extends HoldfastError {
  readonly code = 'HF_CAPACITY'
}

/** To wait would never end: what is asked for is held by somebody who waits for what the caller holds. */
export class DeadlockError extends HoldfastError {
  readonly code = 'HF_DEADLOCK'
}

/** The clocks of two hosts differ by more than a job's period: the message names the other host. */
export class ClockError extends HoldfastError {
  readonly code = 'HF_CLOCK'
}

/** The store can't carry what was asked; the message gives the reason. */
export class UnsupportedError extends HoldfastError {
  readonly code = 'HF_UNSUPPORTED'
}

/** The store answered with an error that trying again will not mend. */
export class StoreError extends HoldfastError {
  readonly code: string = 'HF_STORE'
}

/** The store did not answer. Whether the request took effect is not known. */
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

/** A guard has already seen a newer token than the one given. */
export class StaleTokenError extends HoldfastError {
  readonly code = 'HF_STALE_TOKEN'
  /** The token that was refused. */
  readonly given: bigint
  /** The newest token that the guard has seen. */
  readonly newest: bigint

  constructor(message: string, detail: ErrorDetail & { readonly given: bigint; readonly newest: bigint }) {
    super(message, detail)
    this.given = detail.given
    this.newest = detail.newest
  }
}

/** A request may or may not have taken effect, and that can no longer be found out. */
export class OutcomeUnknownError extends HoldfastError {
  readonly code = 'HF_UNKNOWN'
}

/** The Holdfast instance was closed. */
export class ClosedError extends HoldfastError {
  readonly code = 'HF_CLOSED'
}
