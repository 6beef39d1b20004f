/** How far a server's clock is from ours, and whether it has jumped since we last heard of it. */

/** Two clocks that part by less than this between two answers have drifted, or the network was slow. */
export const JUMP_MS = 200
/**
 * Less than this is blamed on nobody: our own clock may have stood still for so long, and other servers just not show
 * it.
 */
export const BLAME_MS = 500

export class Clock {
  /** The server's time minus our monotonic one lies between these; null before the first answer. */
  #low: number | null = null
  #high = 0
  /** Since when, by our clock, its time has been known without a break. */
  knownSince: number = Number.POSITIVE_INFINITY

  get isKnown(): boolean {
    return this.#low !== null
  }

  /** The server's time minus ours, in milliseconds. */
  get offsetMs(): number {
    return ((this.#low ?? 0) + this.#high) / 2
  }

  /**
   * Takes an answer's time into account. 0: it fits what is known. Else by how much the server's clock, or ours, has
   * jumped; then what is known stays as it was.
   */
  observe(sentAt: number, heardAt: number, serverMs: number): number {
    const [low, high] = [serverMs - heardAt, serverMs - sentAt]
    if (this.#low === null) {
      this.#low = low
      this.#high = high
      this.knownSince = sentAt
      return 0
    }
    if (low > this.#high + JUMP_MS) return low - this.#high
    if (high < this.#low - JUMP_MS) return high - this.#low
    if (low <= this.#high && high >= this.#low) {
      // Each answer narrows it down: the time was read somewhere between sending and hearing.
      this.#low = Math.max(this.#low, low)
      this.#high = Math.min(this.#high, high)
    } else {
      this.#low = low
      this.#high = high
    }
    return 0
  }

  /** Forgets what was known; the next answer begins anew. */
  reset(): void {
    this.#low = null
    this.knownSince = Number.POSITIVE_INFINITY
  }
}
