/** The stock that is left. One request at a time, as in any database: two requests are never one step. */
import type { Answer, Ask } from './messages.ts'

export class Stock {
  #left: number
  #newest = 0n

  constructor(left: number) {
    this.#left = left
  }

  get left(): number {
    return this.#left
  }

  answer(ask: Ask): Omit<Answer, 'id'> {
    switch (ask.kind) {
      case 'read':
        return this.#isStale(ask.token) ? { refused: true } : { left: this.#left }
      case 'write':
        if (this.#isStale(ask.token)) return { refused: true }
        this.#left = ask.left
        return {}
      case 'take':
        // The whole decision in one request: UPDATE stock SET left = left - n WHERE left >= n.
        if (this.#left < ask.count) return { taken: false }
        this.#left -= ask.count
        return { taken: true }
      case 'decided':
      case 'done':
        break
    }
    return {}
  }

  /**
   * Refuses a buyer that held the lock before another buyer that was here already. Reads count as well. Schedule: B
   * reads 10; A, whose lock has passed to B, writes 4; B writes 5. If only writes were checked, A's would get through,
   * and 11 would be sold.
   */
  #isStale(token: string | undefined): boolean {
    if (token === undefined) return false
    const given = BigInt(token)
    if (given < this.#newest) return true
    this.#newest = given
    return false
  }
}
