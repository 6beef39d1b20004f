/**
 * Comes by at every new place after a moment. Most holds are over sooner: they need neither a timer of their own nor a
 * watch on their node, and one timer for all of them is what remains of it.
 */
import type { OwnPlace } from './places.ts'

/** No place is seen after sooner, and none much later than twice this. */
const VISIT_MS = 100

export class HoldWakeups {
  readonly #visit: (standing: OwnPlace) => void
  /** Those that came since the last round, and those that were there before it. */
  #young: OwnPlace[] = []
  #old: OwnPlace[] = []
  #timer: NodeJS.Timeout | null = null

  constructor(visit: (standing: OwnPlace) => void) {
    this.#visit = visit
  }

  /** Comes by once, unless it has been asked to already. */
  expect(standing: OwnPlace): void {
    if (standing.expected) return
    standing.expected = true
    this.#young.push(standing)
    if (this.#timer !== null) return
    this.#timer = setInterval(() => this.#round(), VISIT_MS)
    this.#timer.unref()
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
    this.#young = []
    this.#old = []
  }

  #round(): void {
    const due = this.#old
    this.#old = this.#young
    this.#young = []
    if (this.#old.length === 0) this.stop()
    for (const standing of due) {
      standing.expected = false
      this.#visit(standing)
    }
  }
}
