/**
 * Hands a place on: the place gets another id and the lease of its new owner, and keeps its key and its create
 * revision.
 */
import type { Entry, Place } from '../../contract/driver.ts'
import type { EtcdClient } from '../../clients/etcd/index.ts'
import { findPlaces, type FoundPlace } from './finding.ts'
import type { Keys } from './keys.ts'
import type { Lease } from './lease.ts'
import { isLeaseGone, type Leases, mayHaveApplied } from './leases.ts'
import { move } from './leaving.ts'
import { reweighedValue } from './place-value.ts'
import { readRaise } from './raise.ts'
import type { OwnPlace, OwnPlaces } from './places.ts'
import type { Touching } from './touching.ts'
import type { Wakeups } from './wakeups.ts'

export interface RenamingConfig {
  readonly client: EtcdClient
  readonly keys: Keys
  readonly leases: Leases
  readonly ownPlaces: OwnPlaces
  readonly wakeups: Wakeups
  readonly touching: Touching
}

export class Renaming {
  readonly #parts: RenamingConfig

  constructor(parts: RenamingConfig) {
    this.#parts = parts
  }

  async rename(entry: Entry, id: string): Promise<Place | null> {
    const { ownPlaces, leases, touching } = this.#parts
    const heir = { ...entry, id }
    if ((ownPlaces.get(id)?.token ?? 0n) === 0n && !(await this.#handOver(entry, heir))) return null
    // Only a hold is renamed. The heir must know that: while a raise has made its first step only, a place that does
    // not know of its own grant counts the new weight, and a reader would be refused what it holds.
    const known = await touching.known(heir)
    if (known !== null) known.granted = true
    const [place] = await touching.touch([heir])
    if (entry.unclaimed === true) {
      // If nobody comes for the place, nobody here may renew it.
      const standing = ownPlaces.remove(id)
      if (standing !== undefined) leases.release(standing)
    }
    return place ?? null
  }

  /** False: there is nothing to hand on. Each further turn means that somebody else has changed the place. */
  async #handOver(entry: Entry, heir: Entry): Promise<boolean> {
    const { client, keys, leases, ownPlaces } = this.#parts
    for (let lease: Lease | null = null; ; ) {
      const [done, old] = await findPlaces(client, keys, [heir, entry])
      if (done !== undefined) return true
      if (old === undefined || old.value.broken || old.kv.lease === 0n) return false
      // A renewed lease or a new one: the new owner counts its time from now. A place that nobody has claimed can't be
      // on a lease that its giver renews for other places, and revokes in the end.
      lease ??= heir.unclaimed === true ? await leases.apart(heir.ttlMs) : await leases.fresh(heir.ttlMs)
      // Before the request: if it gets no answer, a lease without places would be revoked, and this place with it.
      const standing = ownPlaces.meet(heir, old.kv.key, lease)
      try {
        if (await this.#put(old, entry, standing)) return true
        this.#forget(standing)
      } catch (error) {
        if (mayHaveApplied(error)) leases.retire(lease)
        else this.#forget(standing)
        if (!isLeaseGone(error)) throw error
        leases.lapsed(lease)
        lease = null
      }
    }
  }

  #forget(standing: OwnPlace): void {
    this.#parts.ownPlaces.remove(standing.entry.id)
    this.#parts.leases.release(standing)
  }

  async #put({ kv, value }: FoundPlace, entry: Entry, heir: OwnPlace): Promise<boolean> {
    const { client, keys, leases, ownPlaces, wakeups } = this.#parts
    const { key, createRevision, modRevision } = kv
    // With its turn. Schedule: an upgrade is made, and waits for readers; the hold gets another id; the upgrade is
    // asked for again. If the turn were lost, it would be made a second time, and let in readers that came after it.
    const renamed = reweighedValue({ ...heir.entry, at: value.at }, value.turn)
    const place = { key, value: renamed, lease: heir.lease.id }
    const mark = entry.capacity === 1 ? null : readRaise((await client.range({ key: keys.raised(entry.line) })).kvs[0])
    const raise = mark?.token === createRevision ? mark : null
    // The mark is written anew, too, and its revision says who came before it. So what follows from the old revision is
    // written down before that is lost: else readers that came after the mark would be let in.
    const { start, end } = keys.line(entry.line)
    const isOpen = raise !== null && raise.beside === null
    const kvs = isOpen ? (await client.range({ key: start, rangeEnd: end, keysOnly: true })).kvs : null
    const { succeeded, header } = await client.txn({
      // Each change of the weight writes the place anew, so what was read after that has not changed since.
      compare: [{ target: 'mod', result: '=', key, modRevision }],
      success: move(keys, entry.line, place, raise, kvs),
    })
    if (!succeeded) return false
    const before = ownPlaces.remove(entry.id)
    if (before !== undefined) leases.release(before)
    wakeups.drop(entry.id)
    heir.token = createRevision
    heir.modRevision = header.revision
    return true
  }
}
