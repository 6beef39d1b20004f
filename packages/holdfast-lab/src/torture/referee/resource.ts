/**
 * What the lock protects, one for each line: a list, twice. One checks the token of every step, and turns away those
 * that are old; the other lets everything through.
 */

export interface Step {
  /** Names the hold. */
  readonly hold: string
  /** Decimal; absent where there is none. */
  readonly token?: string | undefined
  readonly exclusive: boolean
  /** True: a reader has become a writer; default false. */
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

/** How long both lists of a line were when a step came to them. */
export interface Lengths {
  readonly open: number
  readonly guarded: number
}

/**
 * The guarded resource as two lists that only grow: whoever holds alone and writes, adds itself. Only the lengths are
 * kept: what stands in a list is told by the order of the steps in the history. A reader is told how much it saw; two
 * that saw the same and both wrote have lost an update, and each must have come before the other.
 */
export class ListResource {
  readonly #fence = new FencedResource()
  #open = 0
  #guarded = 0

  /** `adds`: it writes, and holds alone. */
  step(step: Step, adds: boolean): { readonly accepted: boolean; readonly saw: Lengths } {
    const accepted = this.#fence.accepts(step)
    const saw = { open: this.#open, guarded: this.#guarded }
    if (adds) this.#open += 1
    if (adds && accepted) this.#guarded += 1
    return { accepted, saw }
  }
}
