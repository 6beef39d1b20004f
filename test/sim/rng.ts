/** A seeded generator: the same seed gives the same run, on any machine. */
export class Rng {
  #state: number

  constructor(seed: number) {
    // Neighbouring seeds must not give neighbouring runs.
    this.#state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) >>> 0
    for (let i = 0; i < 4; i++) this.next()
  }

  /** From 0 up to 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let t = this.#state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }

  /** A whole number from `min` to `max`, both included. */
  whole(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1))
  }

  between(min: number, max: number): number {
    return min + this.next() * (max - min)
  }

  chance(p: number): boolean {
    return this.next() < p
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.next() * from.length)] as T
  }

  hex(digits: number): string {
    let text = ''
    while (text.length < digits) text += Math.floor(this.next() * 16).toString(16)
    return text
  }
}
