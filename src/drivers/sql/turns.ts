/**
 * One enter at a time for each line of a process. A and B ask in this order, a pool gives them different connections, and B's
 * request overtakes A's: callers of one process would not be served in the order they asked. The line's row lock would
 * make them wait for each other anyway, each on a connection that others could use.
 */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>()

  take<T>(line: string, act: () => Promise<T>): Promise<T> {
    const before = this.#last.get(line)
    const mine = before === undefined ? act() : before.then(act, act)
    this.#last.set(line, mine)
    const over = (): void => {
      if (this.#last.get(line) === mine) this.#last.delete(line)
    }
    mine.then(over, over)
    return mine
  }
}
