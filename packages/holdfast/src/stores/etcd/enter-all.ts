/** Several lines in one transaction: a granted place in each of them, or in none. */
import type { Runtime } from '../../contract/runtime.ts'
import { type Entry, isGranted, type Place } from '../../contract/driver.ts'
import type { Compare, EtcdClient, RequestOp } from '../../clients/etcd/index.ts'
import type { Lease } from './lease.ts'
import { isLeaseGone, type Leases, mayHaveApplied } from './leases.ts'
import { absent, type Look, OPS_PER_TXN } from './look.ts'
import { placeValue } from './place-value.ts'
import type { OwnPlace, OwnPlaces } from './places.ts'
import type { Touching } from './touching.ts'

export interface EnterAllConfig {
  readonly client: EtcdClient
  readonly look: Look
  readonly leases: Leases
  readonly ownPlaces: OwnPlaces
  readonly touching: Touching
  readonly runtime: Pick<Runtime, 'wallNow'>
  leave(entry: Entry): Promise<void>
}

/** etcd takes 128 operations in a transaction, and as many compares, of which each line needs two at most. */
const LINES_MAX = 64
const TRIES_MAX = 4

/** What a look at all lines said: the weight ahead in each, as of one revision. */
interface Survey {
  readonly ahead: readonly number[]
  readonly revision: bigint
}

export class EnterAll {
  readonly #parts: EnterAllConfig

  constructor(parts: EnterAllConfig) {
    this.#parts = parts
  }

  async enterAll(entries: readonly Entry[]): Promise<Place[] | null> {
    const { ownPlaces } = this.#parts
    if (entries.length > LINES_MAX || new Set(entries.map(({ line }) => line)).size < entries.length) return null
    if (entries.some(({ id }) => ownPlaces.get(id) !== undefined)) {
      const places = await this.#askAgain(entries)
      if (places !== 'never entered') return places
    }
    // First try as if all lines were empty. If one is not, look, and enter on the condition that nobody comes after the
    // look.
    let survey: Survey | null = null
    const ops = entries.flatMap((entry) => this.#parts.look.roomOps(entry))
    if (ops.length > OPS_PER_TXN) return null
    for (let tries = 1; tries <= TRIES_MAX; tries++) {
      const places = await this.#enter(entries, survey)
      if (places === 'lease gone') continue
      if (places !== null) return places
      survey = await this.#survey(entries, ops)
      if (survey === null) return null
    }
    return null
  }

  /** An earlier request with these ids got no answer, or nobody read its answer. */
  async #askAgain(entries: readonly Entry[]): Promise<Place[] | null | 'never entered'> {
    const answers = await this.#parts.touching.touch(entries)
    const places = answers.filter((place) => place !== null)
    if (places.length === 0) return 'never entered'
    if (places.length === entries.length && places.every((place, i) => isGranted(entries[i] as Entry, place))) {
      return places
    }
    for (const [i, entry] of entries.entries()) if (answers[i] !== null) await this.#parts.leave(entry)
    return null
  }

  async #enter(entries: readonly Entry[], survey: Survey | null): Promise<Place[] | null | 'lease gone'> {
    const { client, leases, ownPlaces, runtime } = this.#parts
    const byTtl = new Map<number, Lease>()
    for (const { ttlMs } of entries) if (!byTtl.has(ttlMs)) byTtl.set(ttlMs, await leases.current(ttlMs))
    const all = entries.map((entry) => ownPlaces.add(entry, byTtl.get(entry.ttlMs) as Lease))
    // Counted from before the request, as for a single place.
    const sinces = all.map(({ lease }) => lease.since)
    try {
      const { succeeded, header } = await client.txn({
        compare: all.flatMap((standing) => condition(standing, survey)),
        success: all.map(({ entry, slot: { key }, lease }) => ({
          put: { key, value: placeValue(entry, runtime.wallNow()), lease: lease.id },
        })),
      })
      if (!succeeded) {
        this.#forget(all)
        return null
      }
      const token = header.revision
      return all.map((standing, i): Place => {
        const ahead = survey?.ahead[i] ?? 0
        Object.assign(standing, { token, modRevision: token, ahead, granted: true })
        return { token, ahead, recheckMs: null, since: sinces[i] as Place['since'], wanted: false }
      })
    } catch (error) {
      if (mayHaveApplied(error)) {
        for (const standing of all) standing.doubted = true
        for (const lease of byTtl.values()) leases.retire(lease)
        throw error
      }
      this.#forget(all)
      if (!isLeaseGone(error)) throw error
      // etcd does not say which lease.
      for (const lease of byTtl.values()) leases.lapsed(lease)
      return 'lease gone'
    }
  }

  /** null: one of the lines has no room. */
  async #survey(entries: readonly Entry[], ops: readonly RequestOp[]): Promise<Survey | null> {
    const { client, look } = this.#parts
    const { responses, header } = await client.txn({ success: ops })
    const ahead: number[] = []
    for (const weight of look.rooms(entries, responses)) {
      if (weight === null) return null
      ahead.push(weight)
    }
    return { ahead, revision: header.revision }
  }

  #forget(all: readonly OwnPlace[]): void {
    for (const standing of all) {
      this.#parts.ownPlaces.remove(standing.entry.id)
      this.#parts.leases.release(standing)
    }
  }
}

/** The condition: the line is empty; or everybody in it was there at the look (some may have gone since). */
function condition({ slot: { line, key } }: OwnPlace, survey: Survey | null): Compare[] {
  if (survey === null) return [absent(line.start, line.end)]
  const modRevision = survey.revision + 1n
  return [absent(key), { target: 'mod', result: '<', key: line.start, rangeEnd: line.end, modRevision }]
}
