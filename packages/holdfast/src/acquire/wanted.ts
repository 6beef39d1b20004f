/**
 * Hears that others come to a line, for a holder who would let go then. The store tells everybody who observes the line
 * of every change. Only an answer of the store says whether somebody waits.
 */
import { diagnostics } from '../contract/events.ts'
import type { Stop } from '../contract/driver.ts'
import type { Core } from './core.ts'

export class WantedWatch {
  readonly #core: Core
  readonly #line: string
  readonly #onChange: () => void
  #starting: Promise<boolean> | null = null
  #stop: Stop | null = null
  #isOver = false

  constructor(core: Core, line: string, onChange: () => void) {
    this.#core = core
    this.#line = line
    this.#onChange = onChange
  }

  /** Whether every change from now on is told. */
  get isInForce(): boolean {
    return this.#stop !== null
  }

  /** Settles when the watch is in force; false: the store gave no answer. Never rejects. */
  start(): Promise<boolean> {
    this.#starting ??= this.#start()
    return this.#starting
  }

  /** Nothing is told from here on. */
  end(): void {
    this.#isOver = true
    this.#stop?.()
    this.#stop = null
  }

  async #start(): Promise<boolean> {
    try {
      const stop = await this.#core.driver.watch(this.#line, null, () => {
        if (!this.#isOver) this.#onChange()
      })
      if (this.#isOver) stop()
      else this.#stop = stop
    } catch (error) {
      diagnostics.failed(this.#line, error)
      // The next caller that needs the watch tries again.
      this.#starting = null
    }
    return this.isInForce
  }
}
