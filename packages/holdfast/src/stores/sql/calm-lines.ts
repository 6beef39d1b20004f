/**
 * The lines that this process last found empty: they are entered and left by the short way, one plain statement. When
 * somebody is there after all, that statement changes nothing, and the routine that knows crowds is called: one more
 * round trip, once.
 */
const LINES_MAX = 10_000

export class CalmLines {
  readonly #lines = new Set<string>()

  has(line: string): boolean {
    return this.#lines.has(line)
  }

  /** As of an answer: nobody stood in front. */
  note(line: string, isCalm: boolean): void {
    if (!isCalm) {
      this.#lines.delete(line)
      return
    }
    // Forgetting costs a little speed, and nothing else.
    if (this.#lines.size >= LINES_MAX) this.#lines.clear()
    this.#lines.add(line)
  }
}
