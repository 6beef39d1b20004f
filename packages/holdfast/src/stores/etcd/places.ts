/** The places that this process has entered, or may have: each under its id until it is left. */
import type { Entry } from '../../contract/driver.ts'
import type { Keys } from './keys.ts'
import type { Lease } from './lease.ts'
import type { Raise } from './raise.ts'
import { type ReusedKey, ReusedKeys } from './reused-keys.ts'

/** One place of this process. */
export interface OwnPlace {
  readonly entry: Entry
  readonly slot: ReusedKey
  lease: Lease
  /** The create revision; 0n while no answer has told it. */
  token: bigint
  /** The revision of the last write by its owner. */
  modRevision: bigint
  /** A request for it got no answer, or others know its key: the slot is not used again. */
  doubted: boolean
  /** Weight ahead, as last seen; for a granted place it can only have become less. */
  ahead: number
  /** Once true it stays true while the place lives. */
  granted: boolean
  /** Set if the place is heavier than when it entered, as last seen. */
  raise: Raise | null
}

export class OwnPlaces {
  readonly #keys: Keys
  readonly #slots: ReusedKeys
  readonly #byId = new Map<string, OwnPlace>()
  readonly #byKey = new Map<string, OwnPlace>()

  constructor(keys: Keys) {
    this.#keys = keys
    this.#slots = new ReusedKeys(keys)
  }

  get size(): number {
    return this.#byId.size
  }

  /** All of them. */
  [Symbol.iterator](): IterableIterator<OwnPlace> {
    return this.#byId.values()
  }

  /** All places of a line. */
  of(line: string): OwnPlace[] {
    return [...this].filter(({ entry }) => entry.line === line)
  }

  get(id: string): OwnPlace | undefined {
    return this.#byId.get(id)
  }

  /**
   * Whether a key belongs to a place that somebody here wants. A key that is no place goes with the place it belongs
   * to.
   */
  wants(key: string): boolean {
    return this.#byKey.has(key) || this.#keys.read(Buffer.from(key)) === null
  }

  /** The place of this id, on this lease; an earlier request may have put it on another lease. */
  add(entry: Entry, lease: Lease): OwnPlace {
    const standing = this.#byId.get(entry.id) ?? this.#insert(entry, this.#slots.take(entry), lease)
    return this.#hang(standing, lease)
  }

  /** The same for a place that exists already, under a key that others know, too. */
  meet(entry: Entry, key: Uint8Array, lease: Lease): OwnPlace {
    const standing = this.#byId.get(entry.id) ?? this.#insert(entry, this.#slots.at(entry, key), lease)
    standing.doubted = true
    return this.#hang(standing, lease)
  }

  /** Forgets the place; the caller looks after its leases. */
  remove(id: string): OwnPlace | undefined {
    const standing = this.#byId.get(id)
    if (standing === undefined) return undefined
    this.#byId.delete(id)
    standing.slot.calm.ours--
    if (this.#byKey.get(standing.slot.keyText) === standing) this.#byKey.delete(standing.slot.keyText)
    return standing
  }

  /** The store has confirmed that the place is gone: its slot may be used again. */
  gone({ slot, doubted }: OwnPlace): void {
    if (!doubted) this.#slots.giveBack(slot)
  }

  #insert(entry: Entry, slot: ReusedKey, lease: Lease): OwnPlace {
    const standing: OwnPlace = {
      entry,
      slot,
      lease,
      token: 0n,
      modRevision: 0n,
      doubted: false,
      ahead: 0,
      granted: false,
      raise: null,
    }
    this.#byId.set(entry.id, standing)
    slot.calm.ours++
    this.#byKey.set(slot.keyText, standing)
    return standing
  }

  #hang(standing: OwnPlace, lease: Lease): OwnPlace {
    standing.lease = lease
    lease.places.add(standing)
    return standing
  }
}
