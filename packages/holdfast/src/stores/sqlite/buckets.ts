/**
 * Rate limits in the file. Each method runs inside a transaction, so that what it read is still true when it writes.
 */
import { type Bucket, EMPTY, takeFrom } from '../../contract/bucket.ts'
import type { Demand, Taken } from '../../contract/driver.ts'
import type { Engine, Statement } from './engine.ts'

const SWEEP_US = 60e6
const SWEEP_MAX = 1_000

export class Buckets {
  readonly #select: Statement
  readonly #write: Statement
  readonly #sweep: Statement
  #sweptAt = 0

  constructor(engine: Engine) {
    this.#select = engine.prepare(
      'SELECT level, at AS atUs, refused, shut_until AS shutUntilUs FROM bucket WHERE key = ?',
    )
    this.#write = engine.prepare('INSERT OR REPLACE INTO bucket VALUES (?, ?, ?, ?, ?, ?)')
    this.#sweep = engine.prepare(
      `DELETE FROM bucket WHERE key IN (SELECT key FROM bucket WHERE lapses_at <= ? LIMIT ${SWEEP_MAX})`,
    )
  }

  take(key: string, demand: Demand, now: number): Taken {
    const nowUs = Math.floor(now)
    const before = (this.#select.get(key) as Bucket | undefined) ?? EMPTY
    const { bucket, keepMs, taken } = takeFrom(before, demand, nowUs)
    if (demand.cost > 0) {
      this.#tidy(nowUs)
      const { level, atUs, refused, shutUntilUs } = bucket
      this.#write.run(key, level, atUs, refused, shutUntilUs, nowUs + keepMs * 1_000)
    }
    return taken
  }

  #tidy(nowUs: number): void {
    if (nowUs - this.#sweptAt < SWEEP_US) return
    this.#sweptAt = nowUs
    this.#sweep.run(nowUs)
  }
}
