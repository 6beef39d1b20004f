/**
 * One timer for all commands of a connection. It is set for the earliest deadline it has heard of and looks at the rest
 * when it fires, so that a command that is answered in time costs a comparison and no timer.
 */
export class DeadlineTimer {
  readonly #earliest: () => number
  readonly #expire: (now: number) => void
  #timer: NodeJS.Timeout | null = null
  #turn: NodeJS.Immediate | null = null
  #at = Number.POSITIVE_INFINITY
  #held = false

  /** `earliest` gives the first deadline among the commands, or Infinity; `expire` rejects those that are past theirs. */
  constructor(earliest: () => number, expire: (now: number) => void) {
    this.#earliest = earliest
    this.#expire = expire
  }

  /** A command with this deadline is pending. Until rest(), the timer keeps the process alive for it. */
  cover(deadline: number): void {
    if (!this.#held) {
      this.#held = true
      this.#timer?.ref()
    }
    if (deadline < this.#at) this.#arm(deadline)
  }

  /** Nothing is pending. The timer stays as it is: the next command would only have to set it again. */
  rest(): void {
    if (!this.#held) return
    this.#held = false
    this.#timer?.unref()
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    if (this.#turn !== null) clearImmediate(this.#turn)
    this.#timer = null
    this.#turn = null
    this.#at = Number.POSITIVE_INFINITY
    this.#held = false
  }

  #arm(at: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#at = at
    this.#timer = setTimeout(() => this.#fire(), Math.max(1, Math.ceil(at - performance.now())))
    if (!this.#held) this.#timer.unref()
  }

  #fire(): void {
    this.#timer = null
    this.#at = Number.POSITIVE_INFINITY
    const earliest = this.#earliest()
    if (earliest > performance.now()) {
      this.#armAgain(earliest)
      return
    }
    // The loop was blocked past the deadline: timers run first, while the reply sits in the socket. So the sockets are
    // read once more before anybody is told that no reply came.
    if (this.#turn !== null) return
    this.#turn = setImmediate(() => {
      this.#turn = null
      this.#expire(performance.now())
      this.#armAgain(this.#earliest())
    })
  }

  #armAgain(earliest: number): void {
    if (earliest < this.#at) this.#arm(earliest)
  }
}
