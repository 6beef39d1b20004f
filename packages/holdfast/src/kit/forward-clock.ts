/**
 * A clock that only goes forward: the wall clock, carried on by the monotonic one where somebody sets the wall clock
 * back, and never behind what was seen of others.
 */
import type { Runtime } from '../contract/runtime.ts'

export class ForwardClock {
  readonly #runtime: Pick<Runtime, 'now' | 'wallNow'>
  /** Its rate while it is ahead of the wall clock: 1 keeps the distance, less lets the wall clock catch up. */
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

  /** Another's clock stood at `ms`: this one goes on from there. */
  observe(ms: number): void {
    if (ms > this.now()) this.#ms = ms
  }
}
