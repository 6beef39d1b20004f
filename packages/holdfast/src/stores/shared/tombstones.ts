/** Ids that may not come back. If leave overtook its own delayed enter, that enter must find that it is too late. */
import type { Entry } from '../../contract/driver.ts'

/** How long a removed cell remembers its last nonce, so that a repeated removal learns that it had succeeded. */
export const CELL_TOMBSTONE_MS = 600_000

/** Each id stays for one ttl, by the caller's clock. `T` is what is remembered of it. */
export class Tombstones<T = true> {
  readonly #kept = new Map<string, { readonly until: number; readonly what: T }>()

  add({ id, ttlMs }: Pick<Entry, 'id' | 'ttlMs'>, now: number, what: T): void {
    // In the order in which they were added; a later id with a shorter time waits for those before it.
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
