/** Increasing numbers, taken from the store a range at a time. The next range is fetched before the last is used up. */
import { checkKeys, checkWhole } from '../contract/check.ts'
import type { Core } from '../acquire/core.ts'
import { diagnostics } from '../contract/events.ts'
import { OutcomeUnknownError } from '../contract/errors.ts'
import { type Cell, StoreCell } from './cell.ts'
import type { Closers } from './closers.ts'

/** Options of `segments`. */
export interface SegmentsOptions {
  /** The size of the first range, and the least size of any range. Default 100; 1 to 1 000 000. */
  readonly step?: number
  /**
   * The largest size of a range; ranges grow while they are used up fast. Default 100 000, or `step`; `step` to 10 000
   * 000.
   */
  readonly stepMax?: number
}

/**
 * Numbers from 1 on. No two are alike, and within a process each is larger than all before it. Numbers of two processes
 * are as far apart as their ranges. A process that dies leaves a gap of at most two ranges. A process that closes
 * leaves no gap, unless others have taken a range since.
 */
export interface Segments extends AsyncDisposable {
  readonly name: string
  /** The next number: larger than every number before it in this process. */
  next(): Promise<bigint>
  /** The next number, or null if `next` would have to wait for the store. */
  tryNext(): bigint | null
  /** Gives back the unused numbers, if nobody has taken a range since. */
  close(): Promise<void>
}

/** `next` is the first unused number; `version` is that of the cell after the range was taken. */
interface Range {
  next: bigint
  left: number
  readonly size: number
  readonly version: bigint
  openedAt: number
}

/** How long a range should last. If a range lasts half as long, the next is larger; if twice as long, smaller. */
const AIM_MS = 10_000

export class StoreSegments implements Segments {
  readonly name: string
  readonly #core: Core
  readonly #cell: Cell<string>
  readonly #closers: Closers
  readonly #stepMin: number
  readonly #stepMax: number
  readonly #onClose = (): Promise<void> => this.close()
  #step: number
  #current: Range | null = null
  #spare: Range | null = null
  #fetching: Promise<void> | null = null
  #closing: Promise<void> | null = null

  constructor(core: Core, name: string, options: SegmentsOptions | undefined, closers: Closers) {
    const { step = 100, stepMax } = checkKeys('segments options', options, ['step', 'stepMax'])
    this.#stepMin = checkWhole('step', step, 1, 1_000_000)
    this.#stepMax =
      stepMax === undefined
        ? Math.max(this.#stepMin, 100_000)
        : checkWhole('stepMax', stepMax, this.#stepMin, 10_000_000)
    this.#step = this.#stepMin
    this.name = name
    this.#core = core
    this.#closers = closers
    this.#cell = new StoreCell(core, `holdfast/segments/${name}`)
  }

  tryNext(): bigint | null {
    let range = this.#current
    if (range === null || range.left === 0) {
      range = this.#turn()
      if (range === null) return null
    }
    range.left--
    if (range.left === range.size >> 1) this.#prefetch()
    const number = range.next
    range.next = number + 1n
    return number
  }

  async next(): Promise<bigint> {
    for (;;) {
      this.#core.assertOpen()
      if (this.#closing !== null) throw this.#core.closedError()
      const number = this.tryNext()
      if (number !== null) return number
      await this.#fetch()
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Goes on to the range that lies ready. How long the last range lasted decides the size of the one after it. */
  #turn(): Range | null {
    const range = this.#spare
    if (range === null || this.#closing !== null) return null
    const now = this.#core.runtime.now()
    const last = this.#current
    if (last !== null) {
      const lastedMs = now - last.openedAt
      if (lastedMs < AIM_MS / 2) this.#step = Math.min(this.#step * 2, this.#stepMax)
      else if (lastedMs > AIM_MS * 2) this.#step = Math.max(this.#step >> 1, this.#stepMin)
    }
    range.openedAt = now
    this.#current = range
    this.#spare = null
    return range
  }

  /** In the background. If this fails, the next call of `next` that needs numbers asks again, and reports the error. */
  #prefetch(): void {
    if (this.#spare !== null || this.#closing !== null) return
    this.#fetch().catch((error: unknown) => diagnostics.failed(this.name, error))
  }

  /** One fetch at a time. */
  async #fetch(): Promise<void> {
    const fetching = (this.#fetching ??= this.#take())
    try {
      await fetching
    } finally {
      if (this.#fetching === fetching) this.#fetching = null
    }
  }

  async #take(): Promise<void> {
    this.#closers.add(this.#onClose)
    const size = this.#step
    for (;;) {
      try {
        const { value, version } = await this.#cell.update((next) => String(BigInt(next ?? '1') + BigInt(size)))
        const next = BigInt(value as string) - BigInt(size)
        this.#spare = { next, left: size, size, version, openedAt: 0 }
        return
      } catch (error) {
        // The range may have been taken without an answer. That leaves a gap, and the next range is as good.
        if (!(error instanceof OutcomeUnknownError)) throw error
      }
    }
  }

  async #close(): Promise<void> {
    try {
      if (this.#fetching !== null) await this.#fetching
      const [current, spare] = [this.#current, this.#spare]
      this.#current = null
      this.#spare = null
      const newest = spare ?? current
      // Only while the cell is as our newest range left it: then all numbers after our first unused one are ours.
      if (newest !== null) await this.#cell.write(String(firstUnused(current, spare)), newest.version)
    } catch (error) {
      // A failure costs a gap, no more.
      diagnostics.failed(this.name, error)
    }
    this.#closers.delete(this.#onClose)
  }
}

/** If the two ranges follow one another, both can be given back. */
function firstUnused(current: Range | null, spare: Range | null): bigint {
  if (spare === null) return current?.next ?? 1n
  return current !== null && current.next + BigInt(current.left) === spare.next ? current.next : spare.next
}
