/** The places that this process has entered, or may have: each under its id until it is left. */
import type { Entry } from '../../driver.ts'
import type { Keys } from './keys.ts'
import type { Lease } from './lease.ts'
import { type Slot, Slots } from './slots.ts'

/** One place of this process. */
export interface Standing {
  readonly entry: Entry
  readonly slot: Slot
  lease: Lease
  /** The create revision; 0n while no answer has told it. */
  token: bigint
  /** The revision at which it was written last: by whoever it belongs to since. */
  modRevision: bigint
  /** A request for it got no answer, or others know its key: the slot is not used again. */
  doubted: boolean
  /** Weight in front, as last seen; for a granted place it can only have become less. */
  ahead: number
  /** Once true it stays true while the place lives. */
  granted: boolean
}

export class Standings {
  readonly #slots: Slots
  readonly #byId = new Map<string, Standing>()
  readonly #byKey = new Map<string, Standing>()

  constructor(keys: Keys) {
    this.#slots = new Slots(keys)
  }

  get size(): number {
    return this.#byId.size
  }

  /** All of them. */
  [Symbol.iterator](): IterableIterator<Standing> {
    return this.#byId.values()
  }

  /** All places of a line. */
  of(line: string): Standing[] {
    return [...this].filter(({ entry }) => entry.line === line)
  }

  get(id: string): Standing | undefined {
    return this.#byId.get(id)
  }

  /** Whether a key is that of a place that somebody here wants. */
  hasKey(key: string): boolean {
    return this.#byKey.has(key)
  }

  /** The place of this id, on this lease; an earlier request may have put it on another one. */
  add(entry: Entry, lease: Lease): Standing {
    const standing = this.#byId.get(entry.id) ?? this.#insert(entry, this.#slots.take(entry), lease)
    return this.#hang(standing, lease)
  }

  /** The same for a place that is there already, under a key that others know, too. */
  meet(entry: Entry, key: Uint8Array, lease: Lease): Standing {
    const standing = this.#byId.get(entry.id) ?? this.#insert(entry, this.#slots.at(entry, key), lease)
    standing.doubted = true
    return this.#hang(standing, lease)
  }

  /** Forgets the place; the caller sees to its leases. */
  remove(id: string): Standing | undefined {
    const standing = this.#byId.get(id)
    if (standing === undefined) return undefined
    this.#byId.delete(id)
    standing.slot.calm.ours--
    if (this.#byKey.get(standing.slot.keyText) === standing) this.#byKey.delete(standing.slot.keyText)
    return standing
  }

  /** The store has confirmed that the place is gone: its slot may be used again. */
  gone({ slot, doubted }: Standing): void {
    if (!doubted) this.#slots.giveBack(slot)
  }

  #insert(entry: Entry, slot: Slot, lease: Lease): Standing {
    const standing: Standing = {
      entry,
      slot,
      lease,
      token: 0n,
      modRevision: 0n,
      doubted: false,
      ahead: 0,
      granted: false,
    }
    this.#byId.set(entry.id, standing)
    slot.calm.ours++
    this.#byKey.set(slot.keyText, standing)
    return standing
  }

  #hang(standing: Standing, lease: Lease): Standing {
    standing.lease = lease
    lease.places.add(standing)
    return standing
  }
}
