/**
 * What this process last found in each line. A line that was empty is entered and left by the short way, one plain
 * statement. When somebody is there after all, that statement changes nothing, and the routine that knows crowds is
 * called: one more round trip, once. A line with a crowd is not tried in that way until it was found empty again.
 */
const LINES_MAX = 10_000

export class CalmLines {
  readonly #lines = new Map<string, boolean>()

  /** True: it was empty. False: somebody was there. Undefined: not known. */
  get(line: string): boolean | undefined {
    return this.#lines.get(line)
  }

  /** As of an answer: nobody stood in front. */
  note(line: string, isCalm: boolean): void {
    // Forgetting costs a little speed, and nothing else.
    if (this.#lines.size >= LINES_MAX && !this.#lines.has(line)) this.#lines.clear()
    this.#lines.set(line, isCalm)
  }
}
