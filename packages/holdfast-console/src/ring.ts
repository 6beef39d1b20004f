/** Keeps the last items of a sequence, up to a given number. */

export class Ring<T> {
  readonly #max: number
  #items: T[] = []

  constructor(max: number) {
    this.#max = max
  }

  add(item: T): void {
    this.#items.push(item)
    // Cut in large pieces: shifting an array for each item would cost the length of the array each time.
    if (this.#items.length > this.#max * 2) this.#items = this.#items.slice(-this.#max)
  }

  /** Oldest first. */
  all(): readonly T[] {
    return this.#items.slice(-this.#max)
  }
}
