/** The one timer of a client: it rings at the earliest instant at which something is due. */

const DELAY_MS_MAX = 2 ** 31 - 1

export class Alarm {
  readonly #now: () => number
  readonly #ring: () => void
  #timer: NodeJS.Timeout | null = null
  #immediate: NodeJS.Immediate | null = null
  #at = Number.POSITIVE_INFINITY
  #keepsAlive = false

  constructor(now: () => number, ring: () => void) {
    this.#now = now
    this.#ring = ring
  }

  /** Rings at `at`, or earlier if an earlier ring is set already: whoever is rung looks at the clock and sets the next. */
  set(at: number): void {
    if (at >= this.#at) return
    this.#at = at
    if (this.#timer !== null) clearTimeout(this.#timer)
    const delayMs = Math.min(Math.max(Math.ceil(at - this.#now()), 0), DELAY_MS_MAX)
    this.#timer = setTimeout(() => this.#due(), delayMs)
    if (!this.#keepsAlive) this.#timer.unref()
  }

  /** Whether the process is to live until the ring. */
  keepAlive(alive: boolean): void {
    if (alive === this.#keepsAlive) return
    this.#keepsAlive = alive
    if (alive) this.#timer?.ref()
    else this.#timer?.unref()
  }

  clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    if (this.#immediate !== null) clearImmediate(this.#immediate)
    this.#timer = null
    this.#immediate = null
    this.#at = Number.POSITIVE_INFINITY
  }

  #due(): void {
    this.#timer = null
    this.#at = Number.POSITIVE_INFINITY
    if (this.#immediate !== null) return
    // A process that was blocked finds its timers overdue and the answers unread in the socket. Timers run first, so
    // judging here would leave a sound link; an immediate runs after the sockets were read.
    this.#immediate = setImmediate(() => {
      this.#immediate = null
      this.#ring()
    })
  }
}
