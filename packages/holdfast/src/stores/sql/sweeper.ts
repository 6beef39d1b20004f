/** Sweeps rows of idle lines now and then, for as long as the driver is in use. */

const EVERY_MS = 300_000
const AGAIN_MS = 1_000

export class Sweeper {
  readonly #sweep: () => Promise<boolean>
  #timer: NodeJS.Timeout | null = null
  #stopped = false

  /** `sweep` answers whether there is more to do at once. */
  constructor(sweep: () => Promise<boolean>) {
    this.#sweep = sweep
  }

  /** The driver was used: a sweep is due some time after. */
  used(): void {
    if (this.#timer === null && !this.#stopped) this.#arm(EVERY_MS * (0.5 + Math.random()))
  }

  stop(): void {
    this.#stopped = true
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  #arm(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#sweep().then(
        (isMore) => this.#swept(isMore),
        // Nobody waits for a sweep; what fails now is swept next time.
        () => this.#swept(false),
      )
    }, ms).unref()
  }

  #swept(isMore: boolean): void {
    this.#timer = null
    if (isMore && !this.#stopped) this.#arm(AGAIN_MS)
  }
}
