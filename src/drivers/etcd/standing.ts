/** The places that this process has entered, or may have: each under its id until it is left. */
import type { Entry } from '../../driver.ts'
import type { Lease } from './lease.ts'
import type { Keys, LineKeys } from './keys.ts'

/** One place of this process. */
export interface Standing {
  readonly entry: Entry
  readonly line: LineKeys
  readonly keyText: string
  readonly key: Buffer
  lease: Lease
  /** The create revision; 0n while no answer has told it. */
  token: bigint
  /** Weight in front, as last seen; for a granted place it can only have become less. */
  ahead: number
  /** Once true it stays true while the place lives. */
  granted: boolean
}

export class Standings {
  readonly #keys: Keys
  readonly #byId = new Map<string, Standing>()

  constructor(keys: Keys) {
    this.#keys = keys
  }

  get size(): number {
    return this.#byId.size
  }

  /** All places of a line. */
  of(line: string): Standing[] {
    return [...this.#byId.values()].filter(({ entry }) => entry.line === line)
  }

  get(id: string): Standing | undefined {
    return this.#byId.get(id)
  }

  keyOf(entry: Entry): Buffer {
    return Buffer.from(this.#keys.place(this.#keys.line(entry.line), entry))
  }

  /** Whether a key is that of a place that somebody here wants. */
  hasKey(key: string): boolean {
    return this.#byId.get(key.slice(key.lastIndexOf('/') + 1))?.keyText === key
  }

  /** The place of this id, on this lease; an earlier request may have put it on another one. */
  add(entry: Entry, lease: Lease): Standing {
    let standing = this.#byId.get(entry.id)
    if (standing === undefined) {
      const line = this.#keys.line(entry.line)
      const keyText = this.#keys.place(line, entry)
      standing = { entry, line, keyText, key: Buffer.from(keyText), lease, token: 0n, ahead: 0, granted: false }
      this.#byId.set(entry.id, standing)
    }
    standing.lease = lease
    lease.places.add(standing)
    return standing
  }

  /** Forgets the place; the caller sees to its leases. */
  remove(id: string): Standing | undefined {
    const standing = this.#byId.get(id)
    this.#byId.delete(id)
    return standing
  }
}
