/**
 * Gives places up in the background, and again until the store has confirmed it or the lease must have lapsed: no
 * ghosts.
 */
import type { Driver, Entry } from '../contract/driver.ts'
import { diagnostics } from '../contract/events.ts'
import type { Lease } from './lease.ts'
import type { Runtime } from '../contract/runtime.ts'

export class Cleanup {
  readonly #driver: Driver
  readonly #runtime: Runtime
  readonly #pending = new Set<Promise<true>>()
  #closed = false

  constructor(driver: Driver, runtime: Runtime) {
    this.#driver = driver
    this.#runtime = runtime
  }

  /** Leaves now. Settles when the first try has ended; if that failed, goes on in the background. Never rejects. */
  leave(entry: Entry, afterMs = 0): Promise<true> {
    return this.#driver.leave(entry, afterMs).then(yes, (error: unknown) => this.insist(entry, afterMs, error))
  }

  /**
   * Leaves a place whose enter may still be on its way. Schedule: the request is lost; it is sent again, and answered;
   * the place is left; the lost request arrives after all, and its place stands in line for a whole ttl. A second leave
   * finds the id unknown, so the store remembers the id and refuses a request that comes later.
   */
  giveUp({ entry, doubted }: Pick<Lease, 'entry' | 'doubted'>, afterMs = 0): Promise<true> {
    const left = this.leave(entry, afterMs)
    return doubted && afterMs === 0 ? left.then(() => this.leave(entry)) : left
  }

  /** The same, when nobody waits for the result. */
  drop(lease: Pick<Lease, 'entry' | 'doubted'>, afterMs = 0): void {
    const job = this.giveUp(lease, afterMs).finally(() => this.#pending.delete(job))
    this.#pending.add(job)
  }

  /** Settles when no request is under way. Retries that have not begun are dropped. */
  async close(): Promise<void> {
    await Promise.all(this.#pending)
    this.#closed = true
  }

  /** A leave has failed: tries again in the background. */
  insist(entry: Entry, afterMs: number, error: unknown): true {
    diagnostics.failed(entry.line, error)
    const { ttlMs } = entry
    // All that was sent before now has lapsed one ttl from now. Then nothing is left to give up.
    const until = this.#runtime.now() + ttlMs
    let pauseMs = Math.min(50, ttlMs / 10)
    const again = (): void => {
      if (this.#closed || this.#runtime.now() >= until) return
      this.#driver.leave(entry, afterMs).catch((failure: unknown) => {
        diagnostics.failed(entry.line, failure)
        wait()
      })
    }
    const wait = (): void => {
      this.#runtime.after(pauseMs * (0.5 + this.#runtime.random()), again, false)
      pauseMs = Math.min(pauseMs * 2, 1_000)
    }
    wait()
    return true
  }
}

const yes = (): true => true
