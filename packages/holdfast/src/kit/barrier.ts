/**
 * A barrier: some parties wait for each other and go on together, again and again. A party stands in a line while it
 * waits, so that the others see when one dies: then its arrival counts no more, and another party may come in its
 * stead.
 */
import { checkName, checkWhole } from '../contract/check.ts'
import type { Core } from '../acquire/core.ts'
import { AcquireTimeoutError, CapacityMismatchError, OutcomeUnknownError } from '../contract/errors.ts'
import type { Held } from '../hold/held.ts'
import { tokenOf } from '../hold/token.ts'
import { LineLock } from '../acquire/lock.ts'
import { type LockSettings, resolveAcquire } from '../contract/options.ts'
import { CAPACITY_MAX, makeSpec, otherwise } from '../acquire/spec.ts'
import { CellWakeups } from './wakeups.ts'
import { StoreCell } from './cell.ts'
import type { LatchWaitOptions } from './latch.ts'

/** A cyclic barrier. */
export interface Barrier {
  readonly name: string
  /**
   * Arrives and waits for the others. Returns how often the barrier had opened before (the count begins anew after
   * seven days without use). After `waitMs` or an abort the arrival is taken back, and the others go on waiting. If the
   * barrier opened in that very moment, this party has passed.
   */
  wait(options?: LatchWaitOptions): Promise<number>
  /** How many parties stand before the barrier now. */
  arrived(): Promise<number>
}

interface State {
  readonly parties: number
  readonly generation: number
  /** The places of the parties that have arrived, by their tokens. */
  readonly arrived: readonly string[]
}

const PARTIES_MAX = 1_000
/**
 * How long the store keeps the record of a barrier that nobody uses. Barriers of a job or a request have a name each,
 * so their records must not stay for ever.
 */
const KEEP_MS = 7 * 86_400_000
/** A party that waits for longer than this writes the record anew, so that the store does not forget it. */
const RENEW_MS = 86_400_000

export class StoreBarrier implements Barrier {
  readonly name: string
  readonly #core: Core
  readonly #parties: number
  readonly #cell: StoreCell<State>
  readonly #wakeups: CellWakeups
  readonly #stand: LineLock

  constructor(core: Core, name: string, parties: number, settings: LockSettings) {
    checkWhole('the parties of a barrier', parties, 1, PARTIES_MAX)
    this.name = name
    this.#core = core
    this.#parties = parties
    const line = checkName('the name of a barrier, with what stands before it,', `holdfast/barrier/${name}`)
    this.#cell = new StoreCell(core, line, KEEP_MS)
    this.#wakeups = new CellWakeups(core, line, settings.ttlMs)
    const spec = makeSpec(core, { name: line, mode: 'shared', weight: 1, capacity: CAPACITY_MAX }, settings)
    // Each party has a place of its own, unlike readers. If two parties of one process shared a place, they would count
    // as one arrival, and the barrier would never open.
    this.#stand = new LineLock(core, otherwise(spec, { shareKey: null, settings: { ...settings, reentrant: false } }))
  }

  async wait(options?: LatchWaitOptions): Promise<number> {
    const { waitMs, signal } = resolveAcquire(options, false)
    signal?.throwIfAborted()
    // A place in this line only shows that the party lives; it waits for nobody.
    const held = await this.#stand.acquire()
    try {
      const generation = await this.#arrive(held)
      const open = await this.#passed(held, generation, waitMs, signal)
      if (open) return generation
      throw new AcquireTimeoutError(
        `barrier ${JSON.stringify(this.name)}: not all ${this.#parties} parties came within ${waitMs} ms`,
        { line: this.name },
      )
    } finally {
      // Leaving the line is also the wake-up: everybody who stands there looks.
      await held.release()
    }
  }

  async arrived(): Promise<number> {
    const { state } = await this.#read()
    return (await this.#living(state)).length
  }

  async #passed(held: Held, generation: number, waitMs: number, signal: AbortSignal | null): Promise<boolean> {
    const { runtime } = this.#core
    let writtenAt = runtime.now()
    const look = async (): Promise<true | null> => {
      held.assertHeld()
      const { state, version } = await this.#read()
      if (state.generation > generation) return true
      if (runtime.now() - writtenAt >= RENEW_MS) {
        // If another party was faster, that party has written the record anew.
        await this.#cell.write(state, version)
        writtenAt = runtime.now()
      }
      return null
    }
    try {
      if ((await this.#wakeups.until(look, waitMs, signal)) !== null) return true
    } catch (error) {
      if (await this.#withdraw(held, generation)) return true
      throw error
    }
    return this.#withdraw(held, generation)
  }

  /**
   * Writes the arrival down. The last arrival opens the barrier in the same step. Returns the generation of the
   * arrival.
   */
  async #arrive(held: Held): Promise<number> {
    const me = String(held.token)
    let mine: number | null = null
    for (;;) {
      const { state, version } = await this.#read()
      // The write got no answer. It took effect if the barrier has opened since, or if I am among those who wait.
      if (mine !== null && state.generation > mine) return mine
      if (state.arrived.includes(me)) return state.generation
      const living = await this.#living(state)
      const isLast = living.length + 1 >= this.#parties
      const next: State = isLast
        ? { parties: this.#parties, generation: state.generation + 1, arrived: [] }
        : { parties: this.#parties, generation: state.generation, arrived: [...living, me] }
      try {
        if ((await this.#cell.write(next, version)) !== null) return state.generation
        mine = null
      } catch (error) {
        if (!(error instanceof OutcomeUnknownError)) throw error
        mine = state.generation
      }
    }
  }

  /** Takes the arrival back. True: too late, the barrier has opened with this party. */
  async #withdraw(held: Held, generation: number): Promise<boolean> {
    const me = String(held.token)
    for (;;) {
      const { state, version } = await this.#read()
      if (state.generation > generation) return true
      if (!state.arrived.includes(me)) return false
      const next: State = { ...state, arrived: state.arrived.filter((token) => token !== me) }
      try {
        if ((await this.#cell.write(next, version)) !== null) return false
      } catch (error) {
        if (!(error instanceof OutcomeUnknownError)) throw error
      }
    }
  }

  /** Of the parties that have arrived, those that still stand in the line. */
  async #living(state: State): Promise<string[]> {
    if (state.arrived.length === 0) return []
    const standing = new Set<string>()
    for await (const line of this.#core.driver.list(this.#stand.name)) {
      if (line.name !== this.#stand.name) continue
      for (const { token } of [...line.holders, ...line.waiters]) standing.add(String(tokenOf(token, 0)))
    }
    return state.arrived.filter((token) => standing.has(token))
  }

  async #read(): Promise<{ readonly state: State; readonly version: bigint }> {
    const { value, version } = await this.#cell.read()
    if (value === undefined) return { state: { parties: this.#parties, generation: 0, arrived: [] }, version }
    if (value.parties === this.#parties) return { state: value, version }
    throw new CapacityMismatchError(
      `barrier ${JSON.stringify(this.name)} is for ${value.parties} parties, this call asked for ${this.#parties}`,
      { line: this.name },
    )
  }
}
