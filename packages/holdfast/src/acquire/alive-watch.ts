/**
 * Calls the user's health check while a lock is held. A process whose work hangs still renews, because the heartbeat is
 * ours and sees nothing of the work. So once the check says no, or gives no answer, renewal stops, and the lease runs
 * out.
 */
import { diagnostics } from '../contract/events.ts'
import type { Cancel } from '../contract/runtime.ts'
import type { Core } from './core.ts'
import type { Lease } from './lease.ts'

/** How often in a lease the check is called. It has as long to answer as lies between two calls. */
const ASKS_PER_LEASE = 6

export class AliveWatch {
  readonly #core: Core
  readonly #lease: Lease
  readonly #aliveIf: () => boolean | PromiseLike<boolean>
  readonly #periodMs: number
  #cancel: Cancel
  #isOver = false

  constructor(core: Core, lease: Lease, aliveIf: () => boolean | PromiseLike<boolean>) {
    this.#core = core
    this.#lease = lease
    this.#aliveIf = aliveIf
    this.#periodMs = lease.ttlMs / ASKS_PER_LEASE
    this.#cancel = core.runtime.after(this.#periodMs, () => this.#ask(), false)
  }

  end(): void {
    this.#isOver = true
    this.#cancel()
  }

  #ask(): void {
    const patienceMs = Math.round(this.#periodMs)
    this.#cancel = this.#core.runtime.after(
      patienceMs,
      () => this.#stop(`aliveIf gave no answer for ${patienceMs} ms`),
      false,
    )
    let answer: boolean | PromiseLike<boolean>
    try {
      answer = this.#aliveIf()
    } catch (error) {
      this.#failed(error)
      return
    }
    // Most checks return a boolean at once, so make no promise for these.
    if (typeof answer === 'boolean') this.#answered(answer)
    else
      Promise.resolve(answer).then(
        (alive) => this.#answered(alive),
        (error: unknown) => this.#failed(error),
      )
  }

  #answered(alive: unknown): void {
    if (this.#isOver) return
    this.#cancel()
    if (alive === true) this.#cancel = this.#core.runtime.after(this.#periodMs, () => this.#ask(), false)
    else this.#stop('aliveIf returned false')
  }

  #failed(error: unknown): void {
    if (this.#isOver) return
    this.#cancel()
    diagnostics.failed(this.#lease.line, error)
    this.#stop(`aliveIf failed: ${error instanceof Error ? error.message : String(error)}`)
  }

  /** Stops for good: work that was not alive once has missed what happened meanwhile. */
  #stop(why: string): void {
    this.#isOver = true
    this.#lease.gone = { reason: `${why}, so its lease was not renewed any more`, cause: 'not-alive' }
    this.#core.heartbeat.hold(this.#lease, false)
  }
}
