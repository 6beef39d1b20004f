/** What a holder has. */

/** 'at-risk': a renewal has failed, the lease still runs. 'lost' and 'released' are final. */
export type HoldState = 'held' | 'at-risk' | 'lost' | 'released'

/** A lock that you hold. `await using` releases it at the end of the block. */
export interface Held extends AsyncDisposable {
  readonly name: string
  /**
   * The fencing token: larger than the token of every earlier exclusive hold of the lock. Give it to what you protect.
   */
  readonly token: bigint
  /**
   * Aborts when the lock is lost, with the LockLostError as reason, and when `hf.close()` releases the lock while its
   * work still runs, with a ClosedError. A release of yours does not abort the signal. Made at the first read.
   */
  readonly signal: AbortSignal
  /**
   * Aborts when somebody else waits for the lock: release it soon, if you can. Made at the first read; from then on
   * Holdfast watches the store. UnsupportedError if the store sends no wake-ups, UsageError with `renew: false`.
   */
  readonly wanted: AbortSignal
  /** The state now: each read compares the clock. */
  readonly state: HoldState
  /** What is left of the lease; 0 when the lock is no longer held. */
  readonly remainingMs: number
  /**
   * Throws LockLostError after a loss and NotHeldError after a release. Compares the clock, so the answer is right even
   * after a pause.
   */
  assertHeld(): void
  /**
   * Renews a fixed lease (`renew: false`) by hand: from now on it lasts at least `ms`, and never ends sooner than
   * before. Default `ttlMs`; 1 to 86 400 000. Asks again until the store has answered or the lease is over: then
   * LockLostError. UnsupportedError for more than `ttlMs` where a lease can't become longer (ZooKeeper, Redlock).
   * UsageError without `renew: false`.
   */
  extend(ms?: number): Promise<void>
  /**
   * Ends this hold here, and returns a ticket: the first process to `adopt()` it, within the ttl, holds the lock. Keep
   * the ticket secret: whoever has it can adopt it. A later `release` of this handle does nothing. UnsupportedError
   * where the store can't do it (ZooKeeper, Redlock).
   */
  export(): Promise<string>
  /** Releases the lock. True: the lock was still yours. Idempotent; does not reject when the store is out of reach. */
  release(): Promise<boolean>
}
