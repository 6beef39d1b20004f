/** Calls back once, when an unrenewed lease has only so much time left. Instants are those of `bootMs`. */
import { bootMs } from './orders.ts'

/** The longest timer: setTimeout fires at once for anything longer. */
const TIMER_MS_MAX = 2 ** 31 - 1

export class Notice {
  readonly #noticeMs: number
  readonly #due: (leftMs: number) => void
  #leaseUntilMs: number
  #timer: NodeJS.Timeout | undefined

  constructor(leaseUntilMs: number, noticeMs: number, due: (leftMs: number) => void) {
    this.#leaseUntilMs = leaseUntilMs
    this.#noticeMs = noticeMs
    this.#due = due
    this.#watch()
  }

  get leftMs(): number {
    return this.#leaseUntilMs - bootMs()
  }

  extend(leaseUntilMs: number): void {
    this.#leaseUntilMs = leaseUntilMs
    if (this.#timer !== undefined) this.#watch()
  }

  cancel(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #watch(): void {
    clearTimeout(this.#timer)
    const spareMs = this.leftMs - this.#noticeMs
    this.#timer = setTimeout(() => (this.leftMs > this.#noticeMs ? this.#watch() : this.#tell()), clamp(spareMs))
  }

  #tell(): void {
    this.cancel()
    this.#due(this.leftMs)
  }
}

function clamp(ms: number): number {
  return Math.min(Math.max(0, ms), TIMER_MS_MAX)
}
