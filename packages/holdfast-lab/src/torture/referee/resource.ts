/** What the lock protects, one for each line: it checks the token of every step, and turns away those that are old. */

export interface Step {
  /** Names the hold. */
  readonly hold: string
  /** Decimal; absent where there is none. */
  readonly token?: string | undefined
  readonly exclusive: boolean
}

/**
 * The rule of a guard: an exclusive step must be newer than all before it, a shared one newer than every exclusive one; a hold may come
 * again, and an equal token of another hold is refused.
 */
export class FencedResource {
  #any = -1n
  #anyHold = ''
  #alone = -1n
  #aloneHold = ''

  accepts({ hold, token: text, exclusive }: Step): boolean {
    // Without tokens there is nothing to check by: everything comes through, as in the resource of most people.
    if (text === undefined) return true
    const token = BigInt(text)
    if (exclusive) {
      if (token < this.#any || (token === this.#any && hold !== this.#anyHold)) return false
      this.#alone = token
      this.#aloneHold = hold
    } else if (token < this.#alone || (token === this.#alone && hold !== this.#aloneHold)) {
      return false
    }
    if (token >= this.#any) {
      this.#any = token
      this.#anyHold = hold
    }
    return true
  }
}
