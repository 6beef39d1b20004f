/** What this driver remembers of the ids it was asked about: where their place is, and which are spent for good. */

const SPENT_MAX = 10_000

export class OwnPlaces {
  readonly #tokens = new Map<string, number>()
  readonly #spent = new Set<string>()

  /** The token of a place that has been entered here; finding its row is then one step down the tree. */
  token(id: string): number | undefined {
    return this.#tokens.get(id)
  }

  /** Left or lapsed: an id names one place, once. */
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
