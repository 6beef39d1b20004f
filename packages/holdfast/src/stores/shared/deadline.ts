/**
 * The deadline of every store: the one place that judges "no answer in time".
 *
 * After a process was blocked or stopped, its timers are overdue and the answers lie unread in the socket. Timers run
 * first. So a timer that judged by itself would give up a sound connection, and with it every lock of that connection.
 * An immediate runs after the sockets were read: an answer that lies there counts, however late the timer is.
 */

/**
 * The longest timer: setTimeout fires at once for anything longer. A callback that comes early looks at the clock and
 * sets the deadline again.
 */
const DELAY_MS_MAX = 2 ** 31 - 1

/**
 * One timer for all that is due, on the clock of `performance.now()`. The process may end before, unless it is kept
 * alive.
 */
export class Deadline {
  readonly #passed: () => void
  readonly #now: () => number
  #timer: NodeJS.Timeout | null = null
  #turn: NodeJS.Immediate | null = null
  #at = Number.POSITIVE_INFINITY
  #keepsAlive = false

  /**
   * Calls `passed` at the earliest moment that was set, or a little before: `passed` looks at the clock, and sets the
   * next.
   */
  constructor(passed: () => void, now: () => number = () => performance.now()) {
    this.#passed = passed
    this.#now = now
  }

  /** Something is due at `at`. A deadline that is set for an earlier moment stays. */
  set(at: number): void {
    if (at >= this.#at) return
    this.#at = at
    if (this.#timer !== null) clearTimeout(this.#timer)
    const delayMs = Math.min(Math.max(Math.ceil(at - this.#now()), 0), DELAY_MS_MAX)
    this.#timer = setTimeout(() => this.#due(), delayMs)
    if (!this.#keepsAlive) this.#timer.unref()
  }

  /** Whether the process must live until then. Default: no. */
  keepAlive(alive: boolean): void {
    if (alive === this.#keepsAlive) return
    this.#keepsAlive = alive
    if (alive) this.#timer?.ref()
    else this.#timer?.unref()
  }

  clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    if (this.#turn !== null) clearImmediate(this.#turn)
    this.#timer = null
    this.#turn = null
    this.#at = Number.POSITIVE_INFINITY
  }

  #due(): void {
    this.#timer = null
    this.#at = Number.POSITIVE_INFINITY
    this.#turn ??= setImmediate(() => {
      this.#turn = null
      this.#passed()
    })
  }
}

/**
 * Settles as `promise` does, or rejects with `late()` once `performance.now()` has reached `at`; what the promise does
 * later does not matter any more. Meanwhile the process stays alive, unless this is `background` work that nobody
 * awaits.
 */
export async function within<T>(promise: Promise<T>, at: number, late: () => Error, background = false): Promise<T> {
  let deadline: Deadline | undefined
  const passed = new Promise<never>((_resolve, reject) => {
    deadline = new Deadline(() => {
      if (performance.now() < at) deadline?.set(at)
      else reject(late())
    })
    deadline.keepAlive(!background)
    deadline.set(at)
  })
  try {
    return await Promise.race([promise, passed])
  } finally {
    deadline?.clear()
  }
}
