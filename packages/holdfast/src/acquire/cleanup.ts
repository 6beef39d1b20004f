/** Gives places up in the background, and again until the store has confirmed it or the lease must have lapsed: no ghosts. */
import type { Driver, Entry } from '../driver.ts'
import { diagnostics } from './diagnostics.ts'
import type { Runtime } from './runtime.ts'

export class Reaper {
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
    return this.#driver.leave(entry, afterMs).then(yes, (error: unknown) => {
      diagnostics.failed(entry.line, error)
      this.#insist(entry, afterMs)
      return true
    })
  }

  /** Leaves without anybody waiting for it. */
  drop(entry: Entry, afterMs = 0): void {
    const job = this.leave(entry, afterMs).finally(() => this.#pending.delete(job))
    this.#pending.add(job)
  }

  /** Settles when nothing is under way; retries that still wait for their turn are given up. */
  async close(): Promise<void> {
    await Promise.all(this.#pending)
    this.#closed = true
  }

  #insist(entry: Entry, afterMs: number): void {
    const { ttlMs } = entry
    // What was sent before now has lapsed one ttl from now: then nothing is left to give up.
    const until = this.#runtime.now() + ttlMs
    let pauseMs = Math.min(50, ttlMs / 10)
    const again = (): void => {
      if (this.#closed || this.#runtime.now() >= until) return
      this.#driver.leave(entry, afterMs).catch((error: unknown) => {
        diagnostics.failed(entry.line, error)
        wait()
      })
    }
    const wait = (): void => {
      this.#runtime.after(pauseMs * (0.5 + this.#runtime.random()), again, false)
      pauseMs = Math.min(pauseMs * 2, 1_000)
    }
    wait()
  }
}

const yes = (): true => true
