/** Draws the next fault: every kind once per round, in a random order. */
import type { Random } from '../random.ts'
import type { NemesisName } from './names.ts'

export class Deck {
  readonly #names: readonly NemesisName[]
  readonly #random: Random
  #left: NemesisName[] = []

  constructor(names: readonly NemesisName[], random: Random) {
    this.#names = names
    this.#random = random
  }

  /** The next fault that `allows` accepts; null if it accepts none. */
  next(allows: (name: NemesisName) => boolean): NemesisName | null {
    for (let rounds = 0; rounds < 2; rounds++) {
      const at = this.#left.findIndex(allows)
      if (at >= 0) return this.#left.splice(at, 1)[0] ?? null
      // Faults that were not allowed yet stay in front of the new round.
      this.#left.push(...this.#random.shuffle(this.#names))
    }
    return null
  }
}
