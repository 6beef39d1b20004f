/**
 * The right of one process to make ids as one worker, up to a horizon. The horizon is stored before it is used.
 *
 * Only the horizon makes sure that ids never repeat, not the lease and not any clock. A writes horizon h and makes ids
 * for times up to h. A is stopped; its lease lapses; B takes the slot, reads h, and begins after h. A wakes up and may
 * still make ids up to h: none of them is B's. To go beyond h, A must write to a cell that B has changed since, and is
 * refused. The lease keeps A and B from alternating on one slot in this way.
 */
import { diagnostics } from '../../contract/events.ts'
import { OutcomeUnknownError } from '../../contract/errors.ts'
import type { Held } from '../../hold/held.ts'
import type { Cell } from '../cell.ts'

/** The content of a slot's cell. */
export interface Horizon {
  /** Milliseconds since 1970: ids were made, or may have been, for times up to this one. */
  readonly untilMs: number
}

/**
 * How far a horizon reaches: little at first, so that a process that ends soon leaves a small gap, then twice as far
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
  /** Another process has written to the cell: the slot belongs to that process. */
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

  /** True: the horizon is so near that it should be moved. */
  isNear(timeMs: number): boolean {
    return this.#untilMs - timeMs < this.#spanMs / 2
  }

  /** Exact, also after a pause. */
  get isLost(): boolean {
    return this.#isOver || this.#held.remainingMs <= 0
  }

  /** Moves the horizon; one move at a time. Rejects if the store does not answer. */
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
      // Our write got no answer, and now the cell has another process's value. So it does not matter any more whether
      // ours was there in between.
      if (!(error instanceof OutcomeUnknownError)) throw error
      this.#isOver = true
    } finally {
      this.#extending = null
    }
  }

  /**
   * Gives the slot back. No ids were made for times after `usedMs`, so the next process need not begin at the horizon.
   */
  async end(usedMs: number): Promise<void> {
    try {
      if (this.#extending !== null) await this.#extending
      // Never earlier than what other processes have used.
      const untilMs = Math.max(usedMs, this.fromMs - 1)
      if (!this.isLost && untilMs < this.#untilMs) await this.#cell.write({ untilMs }, this.#version)
    } catch (error) {
      // A failure costs a gap, no more: the next process begins at the horizon.
      diagnostics.failed(this.#held.name, error)
    }
    this.#isOver = true
    await this.#held.release()
  }
}
