/**
 * Snowflakes: 64-bit ids in the order of time. This process makes them without asking anybody, because it leases a
 * worker number.
 */
import type { Core } from '../../acquire/core.ts'
import { diagnostics } from '../../contract/events.ts'
import { UsageError } from '../../contract/errors.ts'
import type { LockSettings } from '../../contract/options.ts'
import type { Closers } from '../closers.ts'
import { ForwardClock } from '../forward-clock.ts'
import { pause } from '../pause.ts'
import { endMs, firstId, type IdParts, type Layout, partsOf, yearsLeft } from './layout.ts'
import { Slots } from './slots.ts'
import type { Tenancy } from './tenancy.ts'

/** Any number of callers may share one object. Each object is a worker of its own, so make one per process. */
export interface Ids extends AsyncDisposable {
  readonly name: string
  /** The worker number at the moment; null before the first id, and after a loss. */
  readonly worker: number | null
  /** Years until the bits for the time run out. */
  readonly yearsLeft: number
  /**
   * The next id. Waits only when it must: for a worker number, for the store once in a while, or for the next
   * millisecond.
   */
  next(): Promise<bigint>
  /** The next id in decimal, because JSON and JavaScript numbers can't carry 64 bits. */
  nextString(): Promise<string>
  /** The next id, or null if `next` would have to wait. */
  tryNext(): bigint | null
  /** The parts of an id: time, worker, sequence. */
  parts(id: bigint | string): IdParts
  /** Gives the worker number back. */
  close(): Promise<void>
}

/** When callers want more ids at once than a millisecond has: how many passed milliseconds may still be filled up. */
const BEHIND_MS_MAX = 10

export class StoreIds implements Ids {
  readonly name: string
  readonly #core: Core
  readonly #layout: Layout
  readonly #closers: Closers
  readonly #slots: Slots
  readonly #clock: ForwardClock
  readonly #perMs: number
  readonly #onClose = (): Promise<void> => this.close()
  #tenancy: Tenancy | null = null
  /** The millisecond for which ids are made now, how many of its ids are left, and the last id. */
  #timeMs = 0
  #left = 0
  #last = 0n
  /** The millisecond before was full, so this one may be filled although its time has passed. */
  #isBehind = false
  #wallMs = Number.NaN
  #waiting: Promise<void> | null = null
  #closing: Promise<void> | null = null

  constructor(core: Core, name: string, settings: LockSettings, layout: Layout, closers: Closers) {
    this.name = name
    this.#core = core
    this.#layout = layout
    this.#closers = closers
    this.#slots = new Slots(core, name, settings, layout)
    // If a worker begins beyond a horizon, its clock is ahead of the wall clock, and lets the wall clock catch up.
    this.#clock = new ForwardClock(core.runtime, 0.5)
    this.#perMs = 2 ** layout.sequenceBits
  }

  get worker(): number | null {
    return this.#tenancy === null || this.#tenancy.isLost ? null : this.#tenancy.worker
  }

  get yearsLeft(): number {
    return yearsLeft(this.#layout, this.#core.runtime.wallNow())
  }

  tryNext(): bigint | null {
    const wallMs = this.#core.runtime.wallNow()
    // While the wall clock shows the same millisecond, nothing can have changed: not the lease, not the horizon.
    if ((wallMs !== this.#wallMs || this.#left === 0) && !this.#look(wallMs)) return null
    this.#left--
    this.#last += 1n
    return this.#last
  }

  async next(): Promise<bigint> {
    for (;;) {
      const id = this.tryNext()
      if (id !== null) return id
      // All waiting callers share one wait: they are served in the order in which they came.
      const waiting = (this.#waiting ??= this.#wait())
      try {
        await waiting
      } finally {
        if (this.#waiting === waiting) this.#waiting = null
      }
    }
  }

  async nextString(): Promise<string> {
    return String(await this.next())
  }

  parts(id: bigint | string): IdParts {
    return partsOf(this.#layout, id)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** The clock has moved, or the millisecond is full. Makes sure that ids may be made, and for which time. */
  #look(wallMs: number): boolean {
    const left = this.#left
    const tenancy = this.#tenancy
    this.#left = 0
    if (tenancy === null || tenancy.isLost) return false
    const nowMs = Math.floor(this.#clock.now())
    const timeMs = this.#timeFor(nowMs, left)
    if (timeMs > nowMs && left === 0) return false
    if (timeMs > tenancy.untilMs || timeMs >= endMs(this.#layout)) return false
    if (tenancy.isNear(timeMs)) this.#extend(tenancy, nowMs)
    this.#wallMs = wallMs
    if (timeMs === this.#timeMs) {
      this.#left = left
      return true
    }
    this.#isBehind = timeMs < nowMs
    this.#timeMs = timeMs
    this.#left = this.#perMs
    this.#last = firstId(this.#layout, timeMs, tenancy.worker) - 1n
    return true
  }

  /**
   * After a full millisecond comes the next one, even if its time has passed meanwhile: so a timer that fires late
   * costs no ids, within bounds. Otherwise the present millisecond; never an earlier one than before.
   */
  #timeFor(nowMs: number, left: number): number {
    if (left === 0) return Math.max(this.#timeMs + 1, nowMs - BEHIND_MS_MAX)
    const isFine = nowMs <= this.#timeMs || (this.#isBehind && nowMs - this.#timeMs <= BEHIND_MS_MAX)
    return isFine ? this.#timeMs : nowMs
  }

  /**
   * Moves the horizon in the background, before ids need it. If that fails, `next` reports the error when it needs it.
   */
  #extend(tenancy: Tenancy, nowMs: number): void {
    tenancy.extend(nowMs).catch((error: unknown) => diagnostics.failed(this.name, error))
  }

  async #wait(): Promise<void> {
    this.#core.assertOpen()
    if (this.#closing !== null) throw this.#core.closedError()
    const tenancy = this.#tenancy
    if (tenancy === null || tenancy.isLost) {
      await this.#move(tenancy)
      return
    }
    const nowMs = Math.floor(this.#clock.now())
    if (nowMs >= endMs(this.#layout)) {
      throw new UsageError(`ids ${JSON.stringify(this.name)}: ${this.#layout.timeBits} bits of time have run out`)
    }
    if (nowMs > tenancy.untilMs) await tenancy.extend(nowMs)
    else await pause(this.#core.runtime, 1)
  }

  /** Moves to another slot: the old slot is lost, or there was none. */
  async #move(lost: Tenancy | null): Promise<void> {
    this.#tenancy = null
    this.#left = 0
    this.#closers.add(this.#onClose)
    if (lost !== null) await lost.end(lost.untilMs)
    const tenancy = await this.#slots.take(this.#clock)
    if (this.#closing === null) {
      this.#tenancy = tenancy
      // Begin after all ids that others made as this worker, and after all that this process made as another: then the
      // ids of this process rise.
      this.#timeMs = Math.max(this.#timeMs, tenancy.fromMs - 1, Math.floor(this.#clock.now()) - 1)
      return
    }
    await tenancy.end(0)
    throw this.#core.closedError()
  }

  async #close(): Promise<void> {
    const tenancy = this.#tenancy
    this.#tenancy = null
    this.#left = 0
    if (tenancy !== null) await tenancy.end(this.#timeMs)
    this.#closers.delete(this.#onClose)
  }
}
