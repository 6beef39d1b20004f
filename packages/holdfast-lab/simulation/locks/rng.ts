/** A seeded generator: the same seed gives the same run, on any machine. */
import { Random } from '../../src/torture/random.ts'

export class Rng extends Random {
  constructor(seed: number) {
    // Neighbouring seeds must not give neighbouring runs.
    super(Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b))
    for (let i = 0; i < 4; i++) this.next()
  }

  between(min: number, max: number): number {
    return min + this.next() * (max - min)
  }

  override pick<T>(from: readonly T[]): T {
    return super.pick(from) as T
  }

  hex(digits: number): string {
    let text = ''
    while (text.length < digits) text += Math.floor(this.next() * 16).toString(16)
    return text
  }
}
