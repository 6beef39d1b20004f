/**
 * What this process last found in each line. A line that was empty is entered and left by the short way, one plain
 * statement. When somebody is there after all, that statement changes nothing, and the routine that knows crowds is
 * called: one more round trip, once. A line with a crowd is not tried in that way until it was found empty again.
 */
const LINES_MAX = 10_000

export class CalmLines {
  /**
   * In two halves: when the young one is full it becomes the old one, which is forgotten. Were all forgotten at once,
   * those who hold at that moment would each leave by the long way, and go on one by one from then on.
   */
  #young = new Map<string, boolean>()
  #old: ReadonlyMap<string, boolean> = new Map()

  /** True: it was empty. False: somebody was there. Undefined: not known. */
  get(line: string): boolean | undefined {
    return this.#young.get(line) ?? this.#old.get(line)
  }

  /** As of an answer: nobody stood in front. */
  note(line: string, isCalm: boolean): void {
    // Forgetting costs a little speed, and nothing else.
    if (this.#young.size >= LINES_MAX && !this.#young.has(line)) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(line, isCalm)
  }
}
