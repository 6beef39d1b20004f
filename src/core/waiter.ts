/** One caller of acquire or tryAcquire: settles once, by a grant, a refusal, an error, its time limit, or its signal. */
import type { Handle } from './handle.ts'
import type { Wish } from './options.ts'
import type { Cancel, Runtime } from './runtime.ts'
import type { Spec } from './spec.ts'

/** Told that a caller has gone; makes the error that it gets. */
export type GiveUp = (why: 'time' | 'signal') => unknown

export class Waiter {
  readonly spec: Spec
  readonly wish: Wish
  settled = false
  /** Who came after it into the same queue. */
  next: Waiter | null = null
  readonly #resolve: (handle: Handle | null) => void
  readonly #reject: (reason: unknown) => void
  #giveUp: GiveUp | null = null
  #cancelTimer: Cancel | null = null
  #onAbort: (() => void) | null = null

  constructor(spec: Spec, wish: Wish, resolve: (handle: Handle | null) => void, reject: (reason: unknown) => void) {
    this.spec = spec
    this.wish = wish
    this.#resolve = resolve
    this.#reject = reject
  }

  /** Arms the time limit and the signal. A waiter that changes queues keeps its first time limit. */
  arm(runtime: Runtime, giveUp: GiveUp): void {
    const isArmed = this.#giveUp !== null
    this.#giveUp = giveUp
    if (isArmed) return
    const { waitMs, signal } = this.wish
    if (signal !== null) {
      this.#onAbort = () => this.#leave('signal')
      signal.addEventListener('abort', this.#onAbort, { once: true })
    }
    if (waitMs !== Number.POSITIVE_INFINITY && waitMs > 0) {
      this.#cancelTimer = runtime.after(waitMs, () => this.#leave('time'), true)
    }
  }

  resolve(handle: Handle | null): void {
    this.#settle()
    this.#resolve(handle)
  }

  reject(reason: unknown): void {
    this.#settle()
    this.#reject(reason)
  }

  #leave(why: 'time' | 'signal'): void {
    if (this.settled) return
    this.#settle()
    this.#reject(this.#giveUp?.(why))
  }

  #settle(): void {
    this.settled = true
    this.#cancelTimer?.()
    if (this.#onAbort !== null) this.wish.signal?.removeEventListener('abort', this.#onAbort)
  }
}
