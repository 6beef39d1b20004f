/** A lock of redlock 5. */
import type { MultiHeld } from '../../locks/multi.ts'
import type { ExecutionResult, ExecutionStats } from './errors.ts'
import type { Redlock } from './redlock.ts'

/** A lock of redlock 5: over one or several resources. */
export class Lock {
  /** The Redlock that took the lock. */
  readonly redlock: Redlock
  /** The locked resources. */
  readonly resources: string[]
  /** Names this lock; no secret. */
  readonly value: string
  /** How each try went. */
  readonly attempts: readonly Promise<ExecutionStats>[]
  /** When the lock must be treated as over, by the wall clock; 0 after a release or an extension. */
  expiration: number
  /** What Holdfast holds: its fencing tokens are in `holds`, in the order of `resources`. */
  readonly held: MultiHeld

  constructor(
    redlock: Redlock,
    resources: string[],
    value: string,
    attempts: readonly Promise<ExecutionStats>[],
    expiration: number,
    held: MultiHeld,
  ) {
    this.redlock = redlock
    this.resources = resources
    this.value = value
    this.attempts = attempts
    this.expiration = expiration
    this.held = held
  }

  /** Releases the lock. Rejects with an ExecutionError if the lock was no longer held. */
  release(): Promise<ExecutionResult> {
    return this.redlock.release(this)
  }

  /** Returns a lock that lasts `duration` ms from now; do not use this one any more. */
  extend(duration: number): Promise<Lock> {
    return this.redlock.extend(this, duration)
  }
}
