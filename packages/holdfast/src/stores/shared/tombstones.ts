/** Ids that may not come back: leave overtook its own delayed enter, which must find that it is too late. */
import type { Entry } from '../../contract/driver.ts'

/** Each stays for one ttl, by the clock of whoever asks. `T` is what is remembered of it. */
export class Tombstones<T = true> {
  readonly #kept = new Map<string, { readonly until: number; readonly what: T }>()

  add({ id, ttlMs }: Pick<Entry, 'id' | 'ttlMs'>, now: number, what: T): void {
    // In the order in which they were added; a later one with a shorter time waits for those before it.
    for (const [other, { until }] of this.#kept) {
      if (until > now) break
      this.#kept.delete(other)
    }
    this.#kept.set(id, { until: now + ttlMs, what })
  }

  /** undefined: the id may be used. */
  find(id: string, now: number): T | undefined {
    if (this.#kept.size === 0) return undefined
    const kept = this.#kept.get(id)
    return kept !== undefined && now < kept.until ? kept.what : undefined
  }
}
