/** What this driver remembers of ids: where their place is, and which ids are spent for good. */

const SPENT_MAX = 10_000

export class OwnPlaces {
  readonly #tokens = new Map<string, number>()
  readonly #spent = new Set<string>()

  /** The token of a place that was entered here: with it, finding the row is one step down the tree. */
  token(id: string): number | undefined {
    return this.#tokens.get(id)
  }

  /** True: left or lapsed. An id names one place, once. */
  isSpent(id: string): boolean {
    return this.#spent.has(id)
  }

  entered(id: string, token: number): void {
    this.#tokens.set(id, token)
  }

  spend(id: string): void {
    this.#tokens.delete(id)
    this.#spent.add(id)
    if (this.#spent.size <= SPENT_MAX) return
    const oldest = this.#spent.values().next()
    if (oldest.done !== true) this.#spent.delete(oldest.value)
  }
}
