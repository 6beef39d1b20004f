/** One adaptive poll for all that a process waits for: quick after a change, slower while nothing happens. */

export interface PollRange {
  readonly minMs: number
  readonly maxMs: number
}

export interface Polling {
  /** Whether there is anything to poll for. */
  needed(): boolean
  /** Polls once; true if something had happened. */
  poll(): Promise<boolean>
}

export class Poller {
  readonly #range: PollRange
  readonly #polling: Polling
  #timer: NodeJS.Timeout | null = null
  #pauseMs: number
  #isAsking = false
  #isStopped = false

  constructor(range: PollRange, polling: Polling) {
    this.#range = range
    this.#polling = polling
    this.#pauseMs = range.minMs
  }

  /** There is something new to poll for. */
  kick(): void {
    const isQuick = this.#pauseMs === this.#range.minMs
    this.#pauseMs = this.#range.minMs
    // A poll that is due soon serves the newcomer, too. Otherwise a crowd of newcomers would delay it again and again.
    if (this.#isAsking || this.#isStopped || (this.#timer !== null && isQuick)) return
    this.rest()
    this.#arm()
  }

  /** Stops polling until the next kick. */
  rest(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  stop(): void {
    this.#isStopped = true
    this.rest()
  }

  #arm(): void {
    // Jitter: processes that were started together must not poll together.
    this.#timer = setTimeout(() => void this.#ask(), this.#pauseMs * (0.75 + Math.random() / 2)).unref()
  }

  async #ask(): Promise<void> {
    this.#timer = null
    if (!this.#polling.needed()) return
    this.#isAsking = true
    const pauseMs = this.#pauseMs
    // The heartbeat reports a store that is out of reach, because it knows whom to tell; here poll less often.
    const found = await this.#polling.poll().then(itself, unknown)
    this.#isAsking = false
    if (found === true) this.#pauseMs = this.#range.minMs
    else if (found === null) this.#pauseMs = this.#range.maxMs
    // A kick during the poll has set the pause back already.
    else if (this.#pauseMs === pauseMs) this.#pauseMs = Math.min(pauseMs * 1.5, this.#range.maxMs)
    if (!this.#isStopped && this.#polling.needed()) this.#arm()
  }
}

const itself = (found: boolean): boolean => found
const unknown = (): null => null
