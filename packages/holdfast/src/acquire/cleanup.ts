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

  /** Leaves now; settles when the first try has ended, and goes on by itself if that failed. Never rejects. */
  leave(entry: Entry, afterMs = 0): Promise<true> {
    return this.#driver.leave(entry, afterMs).then(yes, (error: unknown) => this.insist(entry, afterMs, error))
  }

  /**
   * Leaves a place of which an enter may still be on its way. The request is lost; it is sent again, and answered; the
   * place is left; the lost one arrives after all, and stands in line for a whole ttl. A second leave finds the id
   * unknown, and so the store refuses what comes after it.
   */
  giveUp({ entry, doubted }: Pick<Lease, 'entry' | 'doubted'>, afterMs = 0): Promise<true> {
    const left = this.leave(entry, afterMs)
    return doubted && afterMs === 0 ? left.then(() => this.leave(entry)) : left
  }

  /** The same, without anybody waiting for it. */
  drop(lease: Pick<Lease, 'entry' | 'doubted'>, afterMs = 0): void {
    const job = this.giveUp(lease, afterMs).finally(() => this.#pending.delete(job))
    this.#pending.add(job)
  }

  /** Settles when nothing is under way; retries that still wait for their turn are given up. */
  async close(): Promise<void> {
    await Promise.all(this.#pending)
    this.#closed = true
  }

  /** A leave has failed: it is tried again, by itself. */
  insist(entry: Entry, afterMs: number, error: unknown): true {
    diagnostics.failed(entry.line, error)
    const { ttlMs } = entry
    // What was sent before now has lapsed one ttl from now: then nothing is left to give up.
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
