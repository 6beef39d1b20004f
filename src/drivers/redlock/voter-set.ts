/** Some of the servers, by their index: at most fifteen, so that one number holds them and a place needs no hash tables. */

export class VoterSet {
  #bits = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  has(index: number): boolean {
    return (this.#bits & (1 << index)) !== 0
  }

  add(index: number): void {
    if (this.has(index)) return
    this.#bits |= 1 << index
    this.#size++
  }

  /** Whether it was there. */
  delete(index: number): boolean {
    if (!this.has(index)) return false
    this.#bits &= ~(1 << index)
    this.#size--
    return true
  }
}
