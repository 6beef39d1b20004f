/** What a holder has. */

/** 'at-risk': a renewal has failed, the lease still runs. 'lost' and 'released' are final. */
export type HoldState = 'held' | 'at-risk' | 'lost' | 'released'

/** What a holder has. `await using` releases it at the end of the block. */
export interface Held extends AsyncDisposable {
  readonly name: string
  /** The fencing token: larger than that of every earlier exclusive hold of the line. Give it to what you protect. */
  readonly token: bigint
  /**
   * Aborts when the lock is lost, with the LockLostError as reason, and when `hf.close()` releases the lock while its
   * work still runs, with a ClosedError. A release of yours does not abort the signal. Made when asked for.
   */
  readonly signal: AbortSignal
  /**
   * Aborts when somebody else waits for the lock: let go soon, if you can. Made when asked for; from then on the store
   * is observed. UnsupportedError where the store tells nobody, UsageError with `renew: false`.
   */
  readonly wanted: AbortSignal
  /** Compares the clock each time it is read. */
  readonly state: HoldState
  /** What is left of the lease; 0 when it is no longer held. */
  readonly remainingMs: number
  /**
   * Throws LockLostError after a loss and NotHeldError after a release; compares the clock, so it is right after a
   * pause.
   */
  assertHeld(): void
  /**
   * Renews a fixed lease (`renew: false`) by hand: it lasts at least `ms` from now on, and never ends sooner than
   * before. Default `ttlMs`; 1 to 86 400 000. Asks again until the store has answered or the lease is over: then
   * LockLostError. More than `ttlMs` is an UnsupportedError where a place keeps the lease that it was entered with
   * (ZooKeeper, Redlock). UsageError without `renew: false`.
   */
  extend(ms?: number): Promise<void>
  /**
   * Ends this hold here and gives a text that makes it live in another process, once, with `adopt`, within its ttl.
   * Whoever has the text can adopt it; to release this handle afterwards does nothing. UnsupportedError where a store
   * can't do it (ZooKeeper, Redlock).
   */
  export(): Promise<string>
  /** Lets go. True: it was still ours. Idempotent; does not reject when the store is out of reach. */
  release(): Promise<boolean>
}
