/**
 * A count that goes down once, and callers who wait until it is zero. Each count is written with an id, so that none is
 * lost or doubled.
 */
import { checkKeys, checkName, checkWhole } from '../contract/check.ts'
import type { Core } from '../acquire/core.ts'
import { AcquireTimeoutError, CapacityMismatchError, OutcomeUnknownError } from '../contract/errors.ts'
import { type AcquireOptions, type LockSettings, resolveAcquire } from '../contract/options.ts'
import { CellWakeups } from './wakeups.ts'
import { StoreCell } from './cell.ts'

/** How a wait ends early. */
export type LatchWaitOptions = Pick<AcquireOptions, 'waitMs' | 'signal'>

/** A count-down latch: opens once, and stays open. */
export interface Latch {
  readonly name: string
  /** Counts down by `count` (default 1). Returns what is left, at least 0. */
  countDown(options?: { readonly count?: number }): Promise<number>
  /** How much is left. */
  count(): Promise<number>
  /** Waits until the latch is open. AcquireTimeoutError after `waitMs`. */
  wait(options?: LatchWaitOptions): Promise<void>
  /** Forgets the latch, open or not: the name begins anew. */
  reset(): Promise<void>
}

interface State {
  readonly count: number
  readonly left: number
  /** The ids of the newest counts, so that a count without an answer can be found. */
  readonly seen: readonly string[]
}

export const LATCH_COUNT_MAX = 1_000_000
/** The writer of a count without an answer looks for it at once. So many other counts may come between. */
const SEEN_MAX = 512

export class StoreLatch implements Latch {
  readonly name: string
  readonly #core: Core
  readonly #total: number
  readonly #cell: StoreCell<State>
  readonly #wakeups: CellWakeups

  constructor(core: Core, name: string, total: number, settings: LockSettings) {
    checkWhole('the count of a latch', total, 1, LATCH_COUNT_MAX)
    this.name = name
    this.#core = core
    this.#total = total
    const key = checkName('the name of a latch, with what stands before it,', `holdfast/latch/${name}`)
    this.#cell = new StoreCell(core, key)
    this.#wakeups = new CellWakeups(core, key, settings.ttlMs)
  }

  async countDown(options?: { readonly count?: number }): Promise<number> {
    const { count = 1 } = checkKeys('countDown options', options, ['count'])
    const by = checkWhole('count', count, 1, LATCH_COUNT_MAX)
    const id = this.#core.runtime.randomId().slice(0, 12)
    const { left, opened } = await this.#write(id, by)
    if (opened) await this.#wakeups.wakeAll()
    return left
  }

  async count(): Promise<number> {
    return (await this.#read()).left
  }

  async wait(options?: LatchWaitOptions): Promise<void> {
    const { waitMs, signal } = resolveAcquire(options, false)
    const open = await this.#wakeups.until(async () => ((await this.count()) === 0 ? true : null), waitMs, signal)
    if (open === null) {
      throw new AcquireTimeoutError(`latch ${JSON.stringify(this.name)} did not open within ${waitMs} ms`, {
        line: this.name,
      })
    }
  }

  async reset(): Promise<void> {
    for (;;) {
      const { version } = await this.#cell.read()
      if (version === 0n || (await this.#cell.remove(version))) return
    }
  }

  /** If a write got no answer, looks for its id, and writes again only if the id is not there. */
  async #write(id: string, by: number): Promise<{ readonly left: number; readonly opened: boolean }> {
    for (;;) {
      const { value, version } = await this.#cell.read()
      const state = this.#checked(value)
      if (state.seen.includes(id)) return { left: state.left, opened: state.left === 0 }
      if (state.left === 0) return { left: 0, opened: false }
      const left = Math.max(0, state.left - by)
      const next: State = { count: this.#total, left, seen: [...state.seen, id].slice(-SEEN_MAX) }
      try {
        if ((await this.#cell.write(next, version)) !== null) return { left, opened: left === 0 }
      } catch (error) {
        if (!(error instanceof OutcomeUnknownError)) throw error
      }
    }
  }

  async #read(): Promise<State> {
    return this.#checked((await this.#cell.read()).value)
  }

  #checked(state: State | undefined): State {
    if (state === undefined) return { count: this.#total, left: this.#total, seen: [] }
    if (state.count === this.#total) return state
    throw new CapacityMismatchError(
      `latch ${JSON.stringify(this.name)} is in use and counts from ${state.count}; this call asked for ${this.#total}`,
      { line: this.name },
    )
  }
}
