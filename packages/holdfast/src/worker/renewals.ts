/**
 * What the worker learned about places while the other thread was blocked. This is shared memory, because a blocked
 * thread reads no messages, and must know the truth with its first step afterwards. One thread writes, the other reads.
 */

/** Places in one page; pages are added when they are needed. */
const SLOTS = 1_024
const WORDS = 3
const PAGE_BYTES = SLOTS * WORDS * BigInt64Array.BYTES_PER_ELEMENT

/** Why the worker gave a place up. */
export const GONE = { lapsed: 1n, silent: 2n } as const

export interface Renewal {
  readonly monoMs: number
  readonly wallMs: number
  /** 0n while the place lives. */
  readonly gone: bigint
}

export class Renewals {
  readonly #pages: BigInt64Array[] = []

  add(page: SharedArrayBuffer): void {
    this.#pages.push(new BigInt64Array(page))
  }

  get size(): number {
    return this.#pages.length * SLOTS
  }

  static newPage(): SharedArrayBuffer {
    return new SharedArrayBuffer(PAGE_BYTES)
  }

  /**
   * Each word is true of the place by itself: an old word beside a new word only makes the place look a little older.
   */
  write(slot: number, monoMs: number, wallMs: number): void {
    const [page, at] = this.#at(slot)
    Atomics.store(page, at, BigInt(Math.floor(monoMs * 1_000)))
    Atomics.store(page, at + 1, BigInt(Math.floor(wallMs)))
  }

  giveUp(slot: number, why: bigint): void {
    const [page, at] = this.#at(slot)
    Atomics.store(page, at + 2, why)
  }

  clear(slot: number): void {
    const [page, at] = this.#at(slot)
    for (let word = 0; word < WORDS; word++) Atomics.store(page, at + word, 0n)
  }

  read(slot: number): Renewal {
    const [page, at] = this.#at(slot)
    // Read the verdict last: then a place that was given up before is seen as such, whatever the other words say.
    const monoMs = Number(Atomics.load(page, at)) / 1_000
    const wallMs = Number(Atomics.load(page, at + 1))
    return { monoMs, wallMs, gone: Atomics.load(page, at + 2) }
  }

  #at(slot: number): [page: BigInt64Array, at: number] {
    return [this.#pages[Math.floor(slot / SLOTS)] as BigInt64Array, (slot % SLOTS) * WORDS]
  }
}
