/** Rate limits in memory. */
import { type Bucket, EMPTY, takeFrom } from '../../contract/bucket.ts'
import type { Demand, Taken } from '../../contract/driver.ts'

interface Kept {
  bucket: Bucket
  until: number
}

const SWEEP_AT = 1_024

export class Buckets {
  readonly #kept = new Map<string, Kept>()
  #sweepAt = SWEEP_AT

  take(key: string, demand: Demand, now: number): Taken {
    const nowUs = Math.floor(now * 1_000)
    const kept = this.#kept.get(key)
    const { bucket, keepMs, taken } = takeFrom(kept?.bucket ?? EMPTY, demand, nowUs)
    if (keepMs === 0) {
      this.#kept.delete(key)
    } else if (kept === undefined) {
      this.#kept.set(key, { bucket, until: now + keepMs })
      if (this.#kept.size > this.#sweepAt) this.#sweep(now)
    } else {
      kept.bucket = bucket
      kept.until = now + keepMs
    }
    return taken
  }

  /**
   * Removes buckets of keys that nobody uses any more. Looks only when there are twice as many as after the last look.
   */
  #sweep(now: number): void {
    for (const [key, { until }] of this.#kept) if (until <= now) this.#kept.delete(key)
    this.#sweepAt = Math.max(SWEEP_AT, this.#kept.size * 2)
  }
}
