/**
 * A clock that only goes forward. It follows the wall clock. If somebody sets the wall clock back, it goes on by the
 * monotonic clock. It is never behind a time that it saw of others.
 */
import type { Runtime } from '../contract/runtime.ts'

export class ForwardClock {
  readonly #runtime: Pick<Runtime, 'now' | 'wallNow'>
  /**
   * The rate of this clock while it is ahead of the wall clock: 1 keeps the distance, less lets the wall clock catch
   * up.
   */
  readonly #rateAhead: number
  #ms = 0
  #monoMs: number

  constructor(runtime: Pick<Runtime, 'now' | 'wallNow'>, rateAhead = 1) {
    this.#runtime = runtime
    this.#rateAhead = rateAhead
    this.#monoMs = runtime.now()
    this.now()
  }

  /** Milliseconds since 1970; never less than before. */
  now(): number {
    const monoMs = this.#runtime.now()
    const carried = this.#ms + (monoMs - this.#monoMs) * this.#rateAhead
    this.#ms = Math.max(this.#runtime.wallNow(), carried)
    this.#monoMs = monoMs
    return this.#ms
  }

  /** Somebody else's clock showed `ms`: this clock goes on from there. */
  observe(ms: number): void {
    if (ms > this.now()) this.#ms = ms
  }
}
