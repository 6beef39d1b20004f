/** Arguments that calls have in common, made anew only when the numbers behind them change: calls with the same list can be joined. */
export class Terms {
  readonly #make: (ttlMs: number, how: number) => readonly (string | number)[]
  #ttlMs = -1
  #how = -1
  #list: readonly string[] = []

  constructor(make: (ttlMs: number, how: number) => readonly (string | number)[]) {
    this.#make = make
  }

  of(ttlMs: number, how: number): readonly string[] {
    if (ttlMs !== this.#ttlMs || how !== this.#how) {
      this.#ttlMs = ttlMs
      this.#how = how
      this.#list = this.#make(ttlMs, how).map(String)
    }
    return this.#list
  }
}
