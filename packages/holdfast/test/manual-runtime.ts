/** A Runtime whose clocks stand still until a test moves them. */
import type { Runtime } from '../src/contract/runtime.ts'

interface Timer {
  readonly at: number
  readonly fn: () => void
}

export class ManualRuntime implements Runtime {
  readonly host = 'manual'
  readonly pid = 1
  monoMs = 1_000
  wallMs = 1_700_000_000_000
  /** How many timers were ever set. */
  timersSet = 0
  #timers: Timer[] = []
  #ids = 0

  now(): number {
    return this.monoMs
  }

  wallNow(): number {
    return this.wallMs
  }

  after(ms: number, fn: () => void): () => void {
    this.timersSet++
    // As in Node: whole milliseconds, and at least one.
    const timer = { at: this.monoMs + Math.max(1, Math.ceil(ms)), fn }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer)
    }
  }

  randomId(): string {
    return (++this.#ids).toString(16).padStart(32, '0')
  }

  random(): number {
    return 0.5
  }

  /** A pause: both clocks go on, and no timer fires. */
  sleep(ms: number): void {
    this.monoMs += ms
    this.wallMs += ms
  }

  /** Time passes as usual: timers fire in order, promises settle in between. */
  async pass(ms: number): Promise<void> {
    const end = this.monoMs + ms
    for (;;) {
      await this.settle()
      const next = this.#timers.toSorted((a, b) => a.at - b.at)[0]
      if (next === undefined || next.at > end) break
      this.#timers = this.#timers.filter((other) => other !== next)
      this.sleep(Math.max(0, next.at - this.monoMs))
      next.fn()
    }
    this.sleep(Math.max(0, end - this.monoMs))
    await this.settle()
  }

  /** Everything that is ready to happen happens. */
  async settle(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
  }
}
