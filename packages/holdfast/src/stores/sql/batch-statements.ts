/**
 * Statements that are on their way, of all kinds, and who waits for room among them. Two are enough to keep the server
 * busy while the client reads; what is asked for meanwhile travels together once one of them is answered. Without a
 * limit callers that once were answered at different times would go on one by one for ever: 16 of them ended as one
 * statement of ten and six single ones.
 */

import { system } from '../../system.ts'

/** On their way at a time, before others wait. */
const STATEMENTS_MAX = 2
/** A statement that takes longer, as one that waits for somebody's row lock, holds up nobody any more. */
const PATIENCE_MS = 25

interface Statement {
  readonly since: number
  counts: boolean
}

export class Traffic {
  readonly #underway = new Set<Statement>()
  /** Those of them that are waited for. */
  #counted = 0
  #waiting: (() => void)[] = []
  #timer: NodeJS.Timeout | null = null

  get isQuiet(): boolean {
    return this.#underway.size === 0
  }

  get room(): number {
    return Math.max(0, STATEMENTS_MAX - this.#counted)
  }

  /** A statement that was sent. */
  add<T>(answer: Promise<T>): Promise<T> {
    const statement = { since: system.now(), counts: true }
    this.#underway.add(statement)
    this.#counted++
    const over = (): void => {
      this.#underway.delete(statement)
      if (statement.counts) this.#counted--
      // Whoever was answered by it may ask for the next thing first, and joins those who wait.
      if (this.#waiting.length > 0) process.nextTick(this.#next)
    }
    answer.then(over, over)
    return answer
  }

  /** Calls `send` once there is room. */
  whenRoom(send: () => void): void {
    this.#waiting.push(send)
    this.#timer ??= setTimeout(() => this.#lookForSlow(), PATIENCE_MS)
  }

  #lookForSlow(): void {
    this.#timer = null
    const slow = system.now() - PATIENCE_MS
    for (const statement of this.#underway) {
      if (!statement.counts || statement.since > slow) continue
      statement.counts = false
      this.#counted--
    }
    this.#next()
  }

  readonly #next = (): void => {
    const waiting = this.#waiting
    this.#waiting = []
    // Who finds no room waits again, behind the others.
    for (const send of waiting) send()
    if (this.#waiting.length > 0 || this.#timer === null) return
    clearTimeout(this.#timer)
    this.#timer = null
  }
}
