/** Random numbers from a seed, so that a run can be repeated. */

export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** Another stream from the same seed: what one part draws must not change what another part gets. */
  static of(seed: number, name: string): Random {
    let hash = seed >>> 0
    for (const char of name) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193) >>> 0
    return new Random(hash)
  }

  /** 0 … 1, without 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let t = this.#state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }

  /** From `low` to `high`, whole. */
  whole(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1))
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(among: readonly T[]): T | undefined {
    return among[Math.floor(this.next() * among.length)]
  }

  shuffle<T>(list: readonly T[]): T[] {
    const result = [...list]
    for (let i = result.length - 1; i > 0; i--) {
      const j = this.whole(0, i)
      const swapped = result[i] as T
      result[i] = result[j] as T
      result[j] = swapped
    }
    return result
  }
}
