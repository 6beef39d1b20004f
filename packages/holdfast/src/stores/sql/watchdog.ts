/**
 * Ends a connection that has gone silent: one timer a connection, however many requests are on their way.
 * A timer for each request would cost as much as the request's own bookkeeping.
 */
export class Watchdog {
  readonly #ms: number
  readonly #bark: () => void
  #timer: NodeJS.Timeout | null = null
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
    this.#at = performance.now()
    if (this.#timer === null) this.#arm(this.#ms)
  }

  answered(): void {
    this.#load--
    this.#at = performance.now()
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  #arm(ms: number): void {
    // Unref'ed: while an answer is owed, the connection itself keeps the process alive.
    this.#timer = setTimeout(() => this.#look(), Math.ceil(ms)).unref()
  }

  #look(): void {
    this.#timer = null
    if (this.#load === 0) return
    const leftMs = this.#at + this.#ms - performance.now()
    if (leftMs > 0) this.#arm(leftMs)
    else this.#bark()
  }
}
