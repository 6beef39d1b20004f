/** Ids that were left without ever having been seen to stand: an enter of theirs that comes later is refused. */
import type { Runtime } from '../../core/runtime.ts'
import type { Entry } from '../../driver.ts'

/** An id is used by one process only, so its own memory will do; what is already on its way is the leases' concern. */
export class Graves {
  readonly #runtime: Pick<Runtime, 'now'>
  readonly #until = new Map<string, number>()

  constructor(runtime: Pick<Runtime, 'now'>) {
    this.#runtime = runtime
  }

  bury(entry: Entry): void {
    const now = this.#runtime.now()
    // In the order they were dug; a later one with a shorter ttl waits for those before it.
    for (const [id, until] of this.#until) {
      if (until > now) break
      this.#until.delete(id)
    }
    this.#until.set(entry.id, now + entry.ttlMs)
  }

  has(id: string): boolean {
    return this.#until.size > 0 && (this.#until.get(id) ?? 0) > this.#runtime.now()
  }
}
