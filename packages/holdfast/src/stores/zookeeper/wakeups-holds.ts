/**
 * Visits every new place after a moment. Most holds are over by then: they need neither a timer of their own nor a
 * watch on their node. All that remains of them is one timer for all.
 */
import type { OwnPlace } from './places.ts'

/** No place is visited sooner, and none much later than twice this. */
const VISIT_MS = 100

export class HoldWakeups {
  readonly #visit: (standing: OwnPlace) => void
  /** Places that came since the last round, and those that came before it. */
  #young: OwnPlace[] = []
  #old: OwnPlace[] = []
  #timer: NodeJS.Timeout | null = null

  constructor(visit: (standing: OwnPlace) => void) {
    this.#visit = visit
  }

  /** Visits the place once, unless that is planned already. */
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
