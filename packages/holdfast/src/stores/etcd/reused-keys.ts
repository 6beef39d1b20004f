/**
 * Uses names of keys again. etcd keeps a removed key in its index until it is compacted, and every look at a line walks
 * over all of those: with a new name for every place, a look at a line that had been used 12 000 times took seven times
 * as long. So a new place takes the name of a place that this process has left before, once the store has confirmed
 * that the old place is gone. The create revision, not the name, tells the two apart.
 */
import type { Entry } from '../../contract/driver.ts'
import type { KeyRange, Keys, LineKeys } from './keys.ts'

const POOLS_MAX = 2_000
const WAYS_MAX = 16
const FREE_MAX = 2_000
const EMPTY_MIN = 8

/** The key where a place stands, or may stand. */
export interface ReusedKey {
  /** The list of free slots to which this slot returns: same line, same weight. */
  readonly free: ReusedKey[]
  readonly line: LineKeys
  /** Keys of the line outside of these bounds have another capacity. */
  readonly bounds: KeyRange | null
  readonly calm: Calm
  readonly keyText: string
  readonly key: Buffer
}

/**
 * Whether a line is likely to be empty. If so, the short request is worth a try; if the try fails, the long request
 * must follow. At most one try in nine fails.
 */
export class Calm {
  /** How many places of this process are in the line, or on their way. */
  ours = 0
  #empty = EMPTY_MIN

  /** A caller that is on its way asks this: no other place of this process may be in the line. */
  get isLikely(): boolean {
    return this.ours <= 1 && this.#empty >= EMPTY_MIN
  }

  /** Notes how the line was found. */
  found(isEmpty: boolean): void {
    this.#empty = isEmpty ? this.#empty + 1 : 0
  }
}

/** The slots of one line for places of one weight: the key names both. */
interface Pool {
  readonly capacity: number
  readonly weight: number
  readonly line: LineKeys
  readonly bounds: KeyRange | null
  readonly calm: Calm
  readonly free: ReusedKey[]
}

export class ReusedKeys {
  readonly #keys: Keys
  /** By the name of the line, which is nearly always used with one weight and capacity. */
  readonly #pools = new Map<string, Pool[]>()

  constructor(keys: Keys) {
    this.#keys = keys
  }

  /** A free slot for this entry. */
  take(entry: Entry): ReusedKey {
    const pool = this.#poolOf(entry)
    return pool.free.pop() ?? this.#slot(pool, this.#keys.place(pool.line, entry))
  }

  /** The slot of a place that another process, or thread, has entered. */
  at(entry: Entry, key: Uint8Array): ReusedKey {
    return this.#slot(this.#poolOf(entry), Buffer.from(key).toString())
  }

  /**
   * The place is gone for certain. That is more than "left": the outcome of each of its requests must be known.
   * Otherwise a request that is carried out late would make, or remove, somebody else's place.
   */
  giveBack(slot: ReusedKey): void {
    if (slot.free.length < FREE_MAX) slot.free.push(slot)
  }

  #slot({ line, bounds, calm, free }: Pool, keyText: string): ReusedKey {
    return { free, line, bounds, calm, keyText, key: Buffer.from(keyText) }
  }

  #poolOf({ line, capacity, weight }: Entry): Pool {
    const pools = this.#pools.get(line)
    for (const pool of pools ?? []) if (pool.capacity === capacity && pool.weight === weight) return pool
    const keys = this.#keys.line(line)
    const bounds = this.#keys.capacityBounds(keys, capacity)
    const pool: Pool = { capacity, weight, line: keys, bounds, calm: new Calm(), free: [] }
    if (pools !== undefined && pools.length < WAYS_MAX) pools.push(pool)
    else this.#keep(line, pool)
    return pool
  }

  /** The oldest line goes; its names are forgotten, which costs nothing but new names. */
  #keep(line: string, pool: Pool): void {
    for (const oldest of this.#pools.keys()) {
      if (this.#pools.size < POOLS_MAX) break
      this.#pools.delete(oldest)
    }
    this.#pools.set(line, [pool])
  }
}
