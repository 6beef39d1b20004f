/**
 * The worker numbers (slots) of one name. Each has a line, so that one process can hold it, and a cell for its horizon.
 */
import type { Core } from '../../acquire/core.ts'
import { AcquireTimeoutError, CapacityMismatchError } from '../../contract/errors.ts'
import type { Held } from '../../hold/held.ts'
import type { LockSettings } from '../../contract/options.ts'
import { StoreCell } from '../cell.ts'
import type { ForwardClock } from '../forward-clock.ts'
import { mutex } from '../../locks/mutex.ts'
import { type Layout, layoutText } from './layout.ts'
import { FIRST_MS, type Horizon, Tenancy } from './tenancy.ts'

/** How often slots whose horizon has not passed yet are skipped: ids that begin there would be ahead of time. */
const PATIENCE = 8
/** A horizon further ahead than this comes from a clock that was wrong. */
const AHEAD_MS_MAX = 3_600_000

export class Slots {
  readonly #core: Core
  readonly #settings: LockSettings
  readonly #layout: Layout
  readonly #name: string
  readonly #prefix: string
  #isAgreed = false

  constructor(core: Core, name: string, settings: LockSettings, layout: Layout) {
    this.#core = core
    this.#name = name
    this.#settings = settings
    this.#layout = layout
    this.#prefix = `holdfast/ids/${name}/`
  }

  /** Takes a slot that nobody has, and stores the first horizon. */
  async take(clock: ForwardClock): Promise<Tenancy> {
    await this.#agree()
    const free = await this.#free()
    let ahead = 0
    for (const worker of free) {
      const held = await mutex(this.#core, this.#prefix + worker, this.#settings).tryAcquire()
      if (held === null) continue
      const tenancy = await this.#settle(worker, held, clock, ahead < PATIENCE && free.length > PATIENCE)
      if (tenancy !== null) return tenancy
      ahead++
    }
    const all = 2 ** this.#layout.workerBits
    throw new AcquireTimeoutError(
      `ids ${JSON.stringify(this.#name)}: all ${all} workers are in use, or were used by a clock far ahead of ` +
        `this one; take more workerBits under a new name`,
      { line: this.#name },
    )
  }

  /** null: this slot can't be used. */
  async #settle(worker: number, held: Held, clock: ForwardClock, isPatient: boolean): Promise<Tenancy | null> {
    let tenancy: Tenancy | null = null
    try {
      const cell = new StoreCell<Horizon>(this.#core, this.#prefix + worker)
      const { value, version } = await cell.read()
      const nowMs = Math.floor(clock.now())
      const usedMs = value?.untilMs ?? 0
      if (usedMs <= nowMs + (isPatient ? 0 : AHEAD_MS_MAX)) {
        const fromMs = usedMs + 1
        clock.observe(fromMs)
        const untilMs = Math.max(usedMs, nowMs) + FIRST_MS
        const written = await cell.write({ untilMs }, version)
        if (written !== null) tenancy = new Tenancy(worker, held, cell, { version: written, fromMs, untilMs })
      }
    } finally {
      if (tenancy === null) await held.release()
    }
    return tenancy
  }

  /**
   * The slots that nobody seems to have: a few of the lowest, in random order, so that processes try different ones.
   */
  async #free(): Promise<number[]> {
    const taken = new Set<number>()
    for await (const { name, holders } of this.#core.driver.list(this.#prefix)) {
      const worker = name.slice(this.#prefix.length)
      if (holders.length > 0 && /^\d+$/.test(worker)) taken.add(Number(worker))
    }
    const free: number[] = []
    for (let worker = 0; worker < 2 ** this.#layout.workerBits; worker++) if (!taken.has(worker)) free.push(worker)
    const few = Math.min(free.length, taken.size + 2 * PATIENCE)
    for (let i = 0; i < few; i++) {
      const j = i + Math.floor(this.#core.runtime.random() * (few - i))
      ;[free[i], free[j]] = [free[j] as number, free[i] as number]
    }
    return free
  }

  /** Two layouts under one name could make the same number from different parts. */
  async #agree(): Promise<void> {
    if (this.#isAgreed) return
    const mine = layoutText(this.#layout)
    const { value } = await new StoreCell<string>(this.#core, `${this.#prefix}layout`).update((value) => value ?? mine)
    if (value !== mine) {
      throw new CapacityMismatchError(
        `ids ${JSON.stringify(this.#name)} are made of ${value}, not of ${mine}; use that, or another name`,
        { line: this.#name },
      )
    }
    this.#isAgreed = true
  }
}
