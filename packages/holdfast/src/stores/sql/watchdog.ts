/**
 * Ends a connection that has gone silent: one deadline a connection, however many requests are on their way.
 * A timer for each request would cost as much as the request's own bookkeeping.
 */
import { Deadline } from '../shared/deadline.ts'

export class Watchdog {
  readonly #ms: number
  readonly #bark: () => void
  /** Not kept alive: while an answer is owed, the connection itself keeps the process alive. */
  readonly #deadline: Deadline = new Deadline(() => this.#look())
  #load = 0
  #at = 0

  /** `bark` is called when an answer is owed and none has come for `ms`. */
  constructor(ms: number, bark: () => void) {
    this.#ms = ms
    this.#bark = bark
  }

  /** Requests without an answer. */
  get load(): number {
    return this.#load
  }

  asked(): void {
    if (this.#load++ > 0) return
    this.heard()
    this.#deadline.set(this.#at + this.#ms)
  }

  answered(): void {
    this.#load--
    this.heard()
  }

  /** A sign of life that is no answer yet: of a request that takes two steps, the first is done. */
  heard(): void {
    this.#at = performance.now()
  }

  stop(): void {
    this.#deadline.clear()
  }

  #look(): void {
    if (this.#load === 0) return
    const at = this.#at + this.#ms
    if (at > performance.now()) this.#deadline.set(at)
    else this.#bark()
  }
}
