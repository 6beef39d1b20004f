/**
 * The right of one process to make ids as one worker, up to a horizon that is stored before it is used.
 *
 * That ids never repeat rests on the horizon alone, not on the lease and not on any clock. A writes horizon h and makes
 * ids for times up to h. A is stopped; its lease lapses; B takes the slot, reads h, and begins beyond it. A wakes up
 * and may still make what it has room for up to h: none of that is B's. To go beyond h, A must write to a cell that B
 * has changed since, and is refused. The lease is what keeps A and B from taking turns at one slot in this way.
 */
import { diagnostics } from '../../contract/events.ts'
import { OutcomeUnknownError } from '../../contract/errors.ts'
import type { Held } from '../../hold/held.ts'
import type { Cell } from '../cell.ts'

/** What stands in the cell of a slot. */
export interface Horizon {
  /** Milliseconds since 1970: ids were made, or may have been, for times up to this one. */
  readonly untilMs: number
}

/**
 * How far a horizon reaches: at first little, so that a process that ends soon leaves a small gap, then twice as far
 * each time.
 */
export const FIRST_MS = 1_000
const MOST_MS = 10_000

export class Tenancy {
  readonly worker: number
  /** The first millisecond since 1970 that is ours. */
  readonly fromMs: number
  readonly #held: Held
  readonly #cell: Cell<Horizon>
  #version: bigint
  #untilMs: number
  #spanMs = FIRST_MS
  /** Another has written to the cell: the slot is another's. */
  #isOver = false
  #extending: Promise<void> | null = null

  constructor(
    worker: number,
    held: Held,
    cell: Cell<Horizon>,
    stored: { readonly version: bigint; readonly fromMs: number; readonly untilMs: number },
  ) {
    this.worker = worker
    this.fromMs = stored.fromMs
    this.#held = held
    this.#cell = cell
    this.#version = stored.version
    this.#untilMs = stored.untilMs
  }

  /** The last millisecond since 1970 for which ids may be made. */
  get untilMs(): number {
    return this.#untilMs
  }

  /** The horizon is so near that it should be moved. */
  isNear(timeMs: number): boolean {
    return this.#untilMs - timeMs < this.#spanMs / 2
  }

  /** Exact, also after a pause. */
  get isLost(): boolean {
    return this.#isOver || this.#held.remainingMs <= 0
  }

  /** Moves the horizon; one at a time. Rejects when the store can't be asked. */
  extend(nowMs: number): Promise<void> {
    this.#extending ??= this.#extend(nowMs)
    return this.#extending
  }

  async #extend(nowMs: number): Promise<void> {
    this.#spanMs = Math.min(this.#spanMs * 2, MOST_MS)
    const untilMs = Math.max(this.#untilMs, nowMs + this.#spanMs)
    try {
      const version = await this.#cell.write({ untilMs }, this.#version)
      if (version === null) {
        this.#isOver = true
        return
      }
      this.#version = version
      this.#untilMs = untilMs
    } catch (error) {
      // No answer, and then another's value: whether ours was there in between does not matter any more.
      if (!(error instanceof OutcomeUnknownError)) throw error
      this.#isOver = true
    } finally {
      this.#extending = null
    }
  }

  /**
   * Gives the slot back. Nothing was made for times after `usedMs`, so that the next one need not begin at the horizon.
   */
  async end(usedMs: number): Promise<void> {
    try {
      if (this.#extending !== null) await this.#extending
      // Never before what others had used.
      const untilMs = Math.max(usedMs, this.fromMs - 1)
      if (!this.isLost && untilMs < this.#untilMs) await this.#cell.write({ untilMs }, this.#version)
    } catch (error) {
      // It costs a gap, no more: the next one begins at the horizon.
      diagnostics.failed(this.#held.name, error)
    }
    this.#isOver = true
    await this.#held.release()
  }
}
