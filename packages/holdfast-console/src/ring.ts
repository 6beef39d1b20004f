/** The last so many of something. */

export class Ring<T> {
  readonly #max: number
  #items: T[] = []

  constructor(max: number) {
    this.#max = max
  }

  add(item: T): void {
    this.#items.push(item)
    // Cut in large pieces: to shift an array for each item would cost its length each time.
    if (this.#items.length > this.#max * 2) this.#items = this.#items.slice(-this.#max)
  }

  /** Oldest first. */
  all(): readonly T[] {
    return this.#items.slice(-this.#max)
  }
}
