/** How long to pause before the next try: the first at once, then up to twice as long each time, with full jitter. */
export class Backoff {
  readonly #minMs: number
  readonly #maxMs: number
  readonly #random: () => number
  #failures = 0

  constructor(options: { backoffMinMs: number; backoffMaxMs: number; random: () => number }) {
    this.#minMs = options.backoffMinMs
    this.#maxMs = options.backoffMaxMs
    this.#random = options.random
  }

  /** Milliseconds to pause now; 0 after a success. */
  next(): number {
    const failures = this.#failures++
    if (failures === 0) return 0
    return this.#random() * Math.min(this.#maxMs, this.#minMs * 2 ** Math.min(failures - 1, 30))
  }

  /** It worked. */
  reset(): void {
    this.#failures = 0
  }
}
