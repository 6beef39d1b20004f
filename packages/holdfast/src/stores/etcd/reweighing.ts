/** Changes the weight of a place. The place keeps its key, which names the weight of its enter: see raise.ts. */
import type { Entry, Place } from '../../contract/driver.ts'
import type { EtcdClient, KeyValue, RequestOp, ResponseOp } from '../../clients/etcd/index.ts'
import type { Keys } from './keys.ts'
import { type PlaceValue, readPlaceValue, reweighedValue } from './place-value.ts'
import { lastBeside, type Raise, raiseValue, readRaise } from './raise.ts'
import type { OwnPlace } from './places.ts'
import type { Touching } from './touching.ts'

/** The outcome of writing a place anew. */
interface Written {
  readonly kv: KeyValue
  readonly responses: readonly ResponseOp[]
}

/** A place as it is in the store. */
interface Sighted {
  readonly kv: KeyValue
  readonly value: PlaceValue
  /** The raise of this place. */
  readonly raise: Raise | null
}

export class Reweighing {
  readonly #client: EtcdClient
  readonly #keys: Keys
  readonly #touching: Touching

  constructor(client: EtcdClient, keys: Keys, touching: Touching) {
    this.#client = client
    this.#keys = keys
    this.#touching = touching
  }

  async reweigh(entry: Entry, turn: number): Promise<Place | null> {
    const standing = await this.#touching.known(entry)
    if (standing === null) return null
    // Each further turn means that somebody else has changed the place: an earlier request of its own, or a break.
    for (;;) {
      const seen = await this.#see(standing)
      if (seen === null || seen.value.turn > turn) break
      if (seen.value.turn === turn) {
        // This is a repeated request: the first of the two steps was made, and perhaps not the second.
        if (seen.raise?.beside !== null || (await this.#settle(standing, seen, seen.raise))) break
      } else if (await this.#change(standing, seen, entry.weight, turn)) break
    }
    return (await this.#touching.touch([entry]))[0] ?? null
  }

  /** null: the place is gone, or nobody may renew it. */
  async #see({ entry, slot: { key }, token, lease }: OwnPlace): Promise<Sighted | null> {
    const { responses } = await this.#client.txn({
      success: [{ range: { key } }, { range: { key: this.#keys.raised(entry.line) } }],
    })
    const [kv, mark] = responses.map(({ range }) => range?.kvs[0])
    if (kv === undefined || kv.createRevision !== token || kv.lease !== lease.id) return null
    const raise = readRaise(mark)
    return { kv, value: readPlaceValue(kv.value), raise: raise?.token === token ? raise : null }
  }

  /** False: another request has changed the place meanwhile. */
  async #change(standing: OwnPlace, seen: Sighted, weight: number, turn: number): Promise<boolean> {
    const { entry, slot, token } = standing
    const key = this.#keys.raised(entry.line)
    const value = reweighedValue(seen.value, turn)
    if (weight <= entry.weight) {
      const lower: RequestOp[] = seen.raise === null ? [] : [{ deleteRange: { key } }]
      if ((await this.#write(standing, seen, value, lower)) === null) return false
      standing.raise = null
      return true
    }
    const mark = { put: { key, value: raiseValue({ token, weight, beside: null }), lease: seen.kv.lease } }
    // Read the line in the same step: a place that comes later finds the mark, and a place that goes later is not
    // waited for in vain.
    const line = { range: { key: slot.line.start, rangeEnd: slot.line.end, keysOnly: true } }
    const written = await this.#write(standing, seen, value, [mark, line])
    if (written === null) return false
    const { kv, responses } = written
    const raise: Raise = { token, weight, beside: null, revision: kv.modRevision }
    // If the place is left from now on, its mark goes with it.
    standing.raise = raise
    return this.#settleWith(
      standing,
      { kv, value: readPlaceValue(value), raise },
      raise,
      responses[2]?.range?.kvs ?? [],
    )
  }

  /** The second step, with the line as it is now. */
  async #settle(standing: OwnPlace, seen: Sighted, raise: Raise): Promise<boolean> {
    const { start, end } = standing.slot.line
    const { kvs } = await this.#client.range({ key: start, rangeEnd: end, keysOnly: true })
    return this.#settleWith(standing, seen, raise, kvs)
  }

  async #settleWith(standing: OwnPlace, seen: Sighted, raise: Raise, kvs: readonly KeyValue[]): Promise<boolean> {
    const key = this.#keys.raised(standing.entry.line)
    const value = raiseValue({ ...raise, beside: lastBeside(this.#keys, kvs, raise) })
    const put = { put: { key, value, lease: seen.kv.lease } }
    return (await this.#write(standing, seen, reweighedValue(seen.value, seen.value.turn), [put])) !== null
  }

  /**
   * Writes the place anew, which wakes whoever waits for it, and writes more in the same step. null: the place has
   * changed since it was read.
   */
  async #write(
    standing: OwnPlace,
    { kv: { key, modRevision, lease, ...kv } }: Sighted,
    value: Buffer,
    more: readonly RequestOp[],
  ): Promise<Written | null> {
    const { succeeded, responses, header } = await this.#client.txn({
      compare: [{ target: 'mod', result: '=', key, modRevision }],
      success: [{ put: { key, value, lease } }, ...more],
    })
    if (!succeeded) return null
    standing.modRevision = header.revision
    return { kv: { ...kv, key, lease, value, modRevision: header.revision }, responses }
  }
}
