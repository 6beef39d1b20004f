/** What the lock protects, one for each line: it checks the token of every step, and turns away those that are old. */

export interface Step {
  /** Names the hold. */
  readonly hold: string
  /** Decimal; absent where there is none. */
  readonly token?: string | undefined
  readonly exclusive: boolean
  /** One who reads has become one who writes; default false. */
  readonly upgraded?: boolean
}

/**
 * The rule of a guard: an exclusive step must be newer than all before it, a shared one newer than every exclusive one;
 * a hold may come again, and an equal token of another hold is refused. An upgrade writes by the token of the place it
 * has read by: readers that came after it, and went before it wrote, have newer ones. It must be newer than every
 * exclusive step, and nobody may have come in since it began to write.
 */
export class FencedResource {
  #any = -1n
  #anyHold = ''
  #alone = -1n
  #aloneHold = ''
  /** Somebody who shares has come since the last exclusive step. */
  #isShared = false

  accepts({ hold, token: text, exclusive, upgraded = false }: Step): boolean {
    // Without tokens there is nothing to check by: everything comes through, as in the resource of most people.
    if (text === undefined) return true
    const token = BigInt(text)
    if (exclusive) {
      const [bar, barHold] = upgraded ? [this.#alone, this.#aloneHold] : [this.#any, this.#anyHold]
      if (token < bar || (token === bar && hold !== barHold)) return false
      if (upgraded && token === bar && this.#isShared) return false
      this.#alone = token
      this.#aloneHold = hold
      this.#isShared = false
    } else if (token < this.#alone || (token === this.#alone && hold !== this.#aloneHold)) {
      return false
    } else {
      this.#isShared = true
    }
    if (token >= this.#any) {
      this.#any = token
      this.#anyHold = hold
    }
    return true
  }
}
