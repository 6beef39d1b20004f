/**
 * Waits for a change of something that is not a line. Whoever makes the change wakes the others: it walks through a
 * line that they watch.
 */
import type { Core } from '../acquire/core.ts'
import { diagnostics } from '../contract/events.ts'
import type { Stop } from '../contract/driver.ts'
import { pause } from './pause.ts'

/** A wake-up may be lost, so a waiting caller looks again after this long. */
const LOOK_MS = 1_000

export class CellWakeups {
  readonly #core: Core
  readonly #line: string
  readonly #ttlMs: number

  constructor(core: Core, line: string, ttlMs: number) {
    this.#core = core
    this.#line = line
    this.#ttlMs = ttlMs
  }

  /** Wakes all who wait. Nobody depends on a wake-up, so a failure only goes to diagnostics. */
  async wakeAll(): Promise<void> {
    const { driver, runtime, cleanup } = this.#core
    const entry = {
      line: this.#line,
      id: runtime.randomId(),
      weight: 1,
      capacity: 1,
      ttlMs: this.#ttlMs,
      data: JSON.stringify({ label: 'wakeups', host: runtime.host, pid: runtime.pid }),
    }
    try {
      await driver.enter(entry, true)
    } catch (error) {
      diagnostics.failed(this.#line, error)
    }
    await cleanup.leave(entry)
  }

  /**
   * Calls `look` until it gives something: at every wake-up, and now and then without one. null: the time was up first.
   */
  async until<T>(look: () => Promise<T | null>, waitMs: number, signal: AbortSignal | null): Promise<T | null> {
    const { driver, runtime } = this.#core
    const end = runtime.now() + waitMs
    let wake = (): void => {}
    let stop: Stop | null = null
    try {
      for (;;) {
        this.#core.assertOpen()
        // Make the promise before the look, so that no change during the look is missed.
        const woken = new Promise<void>((resolve) => {
          wake = resolve
        })
        stop ??= await driver.watch(this.#line, null, () => wake())
        const found = await look()
        if (found !== null) return found
        const leftMs = end - runtime.now()
        if (leftMs <= 0) return null
        await pause(runtime, Math.min(LOOK_MS, leftMs), signal, woken)
      }
    } finally {
      stop?.()
    }
  }
}
