/**
 * One enter at a time for each line of a process. A and B ask in this order, a pool gives them different connections,
 * and B's request overtakes A's: callers of one process would not be served in the order they asked. The line's row
 * lock would make them wait for each other anyway, each on a connection that others could use.
 */
import type { Entry, Place } from '../../contract/driver.ts'
import { isTransient } from '../../contract/transient.ts'
import { Serial } from '../shared/serial.ts'

export class Entering {
  readonly #serial = new Serial()
  /** Places whose turn to be asked for has not come, by id, and whether they were left meanwhile. */
  readonly #queued = new Map<string, { isLeft: boolean }>()
  /** Ids that were asked for without an answer: a request may still be on its way. */
  readonly #doubted = new Set<string>()

  /** Calls `enter` in its turn; null: the place was left before. */
  run({ line, id }: Entry, enter: () => Promise<Place | null>): Promise<Place | null> {
    const mine = this.#queued.get(id) ?? { isLeft: false }
    this.#queued.set(id, mine)
    return this.#serial.run(line, async () => {
      if (mine.isLeft) return null
      this.#queued.delete(id)
      try {
        return await enter()
      } catch (error) {
        if (isTransient(error)) this.#doubted.add(id)
        throw error
      }
    })
  }

  /**
   * Whoever gives up while others are asked for is not asked for any more. Else 2 000 of them, whose lock stays held by
   * another process, would keep the next caller of theirs from asking for as long as it takes to ask for each.
   * False: nothing was sent under this id, and nothing will be. An id is asked for again only if there was no answer.
   */
  leave(id: string): boolean {
    const queued = this.#queued.get(id)
    if (queued !== undefined) queued.isLeft = true
    this.#queued.delete(id)
    return this.#doubted.delete(id) || queued === undefined
  }
}
