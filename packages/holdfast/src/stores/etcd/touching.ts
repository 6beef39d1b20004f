/** Heartbeat and look for many places at once: a keep-alive for each lease, and as few reads as possible. */
import { type Entry, type Instant, isGranted, type Place } from '../../contract/driver.ts'
import type { EtcdClient } from '../../clients/etcd/index.ts'
import { findPlaces } from './finding.ts'
import type { Keys } from './keys.ts'
import type { Lease } from './lease.ts'
import type { Leases } from './leases.ts'
import { type Asked, type Look, LOOKS_PER_TXN, type Sight } from './look.ts'
import type { OwnPlace, OwnPlaces } from './places.ts'
import type { Wakeups } from './wakeups.ts'

/**
 * Up to so many holds are looked at one by one, which also shows whether somebody waits behind. More are found by
 * calling the roll.
 */
const LOOKS_MAX = 64

export class Touching {
  readonly #client: EtcdClient
  readonly #keys: Keys
  readonly #leases: Leases
  readonly #ownPlaces: OwnPlaces
  readonly #wakeups: Wakeups
  readonly #asking: Look

  constructor(client: EtcdClient, keys: Keys, asking: Look, leases: Leases, ownPlaces: OwnPlaces, wakeups: Wakeups) {
    this.#client = client
    this.#keys = keys
    this.#asking = asking
    this.#leases = leases
    this.#ownPlaces = ownPlaces
    this.#wakeups = wakeups
  }

  async touch(entries: readonly Entry[]): Promise<(Place | null)[]> {
    const strangers = entries.filter(({ id }) => (this.#ownPlaces.get(id)?.token ?? 0n) === 0n)
    if (strangers.length > 0) await this.#meet(strangers)
    const ownPlaces = entries.map(({ id }) => this.#ownPlaces.get(id) ?? null)
    const present = ownPlaces.filter((standing) => standing !== null)
    // Send the keep-alives first. A place that a later look finds has one ttl from then, whatever happens to it. If the
    // look were older, a holder would trust a place for too long that was broken in between.
    const renewals = this.#leases.heartbeat(present)
    const seen = await this.#see(present, renewals)
    const places: (Place | null)[] = []
    for (const standing of ownPlaces) {
      if (standing === null) {
        places.push(null)
        continue
      }
      const since = await (renewals.get(standing.lease) as Promise<Instant>)
      places.push(this.#place(standing, seen.get(standing) ?? null, since))
    }
    return places
  }

  async #see(ownPlaces: readonly OwnPlace[], renewals: Map<Lease, Promise<Instant>>): Promise<Map<OwnPlace, Sight>> {
    // A place that waits for those beside it needs a look: the roll does not tell who else is there.
    const holds = ownPlaces.filter(({ granted, raise }) => granted && raise === null)
    const called = new Set(holds.length > LOOKS_MAX ? holds : [])
    const looks = this.#look(ownPlaces.filter((standing) => !called.has(standing)))
    const leases = new Set([...called].map(({ lease }) => lease))
    // On a lease with a doubtful request, every heartbeat calls the roll, to find a key that nobody wants.
    for (const lease of renewals.keys()) if (lease.retired) leases.add(lease)
    const rolls = Promise.all(
      [...leases].map(async (lease): Promise<[Lease, ReadonlySet<string>]> => {
        return [lease, await this.#leases.rollCall(lease, lease.asks.at(-1) ?? lease.since)]
      }),
    )
    const [seen, presence] = await Promise.all([looks, rolls])
    const present = new Map(presence)
    const unheard: OwnPlace[] = []
    for (const standing of called) {
      const { token, lease, ahead } = standing
      if (present.get(lease)?.has(standing.slot.keyText) !== true) {
        if (!lease.gone) unheard.push(standing)
        continue
      }
      seen.set(standing, {
        token,
        leaseId: lease.id,
        ahead,
        front: 0,
        // The roll tells nothing about others.
        wanted: true,
        blockers: [],
        isNext: false,
        revision: 0n,
        raise: null,
      })
    }
    // A roll proves who is there, not who is gone. Schedule 1: the roll is called; a place enters; its heartbeat, due
    // at once because the lease is old, shares that roll. Schedule 2: a follower has answered an enter that the leader,
    // who calls the roll, has yet to carry out. So look at the places that did not answer.
    for (const [standing, sight] of await this.#look(unheard)) seen.set(standing, sight)
    return seen
  }

  async #look(ownPlaces: readonly OwnPlace[]): Promise<Map<OwnPlace, Sight>> {
    const seen = new Map<OwnPlace, Sight>()
    const parts: Promise<void>[] = []
    for (let at = 0; at < ownPlaces.length; at += LOOKS_PER_TXN) {
      parts.push(this.#lookAt(ownPlaces.slice(at, at + LOOKS_PER_TXN), seen))
    }
    await Promise.all(parts)
    return seen
  }

  async #lookAt(ownPlaces: readonly OwnPlace[], seen: Map<OwnPlace, Sight>): Promise<void> {
    const asked: Asked[] = ownPlaces.map((standing) => ({ ...standing }))
    const answer = await this.#client.txn(this.#asking.lookTxn(asked))
    const again: OwnPlace[] = []
    for (const [i, sight] of this.#asking.sights(asked, answer).entries()) {
      const standing = ownPlaces[i] as OwnPlace
      if (sight === null) continue
      // The question for a raised place also asks for the places granted beside it. While the answer was on its way,
      // another look was quicker and noted the raise. So this answer lacks those places: ask again.
      if (sight.raise?.beside !== asked[i]?.raise?.beside) again.push(standing)
      else seen.set(standing, sight)
      standing.raise = sight.raise
    }
    if (again.length > 0) await this.#lookAt(again, seen)
  }

  /** This process's own view of a place; found by its id if it was entered elsewhere. null: there is none to renew. */
  async known(entry: Entry): Promise<OwnPlace | null> {
    if ((this.#ownPlaces.get(entry.id)?.token ?? 0n) === 0n) await this.#meet([entry])
    const standing = this.#ownPlaces.get(entry.id)
    return standing === undefined || standing.token === 0n ? null : standing
  }

  /** Finds places of which only the id is known: a request without an answer, or another thread, entered them. */
  async #meet(entries: readonly Entry[]): Promise<void> {
    const found = await findPlaces(this.#client, this.#keys, entries)
    for (const [i, entry] of entries.entries()) {
      const place = found[i]
      // The place is broken, or left to outlast its owner: renewing its present lease would revive it.
      if (place === undefined || place.kv.lease === 0n || place.value.broken) continue
      const { key, lease, createRevision, modRevision } = place.kv
      // The weight in its key: the entry of a raised place may name its new weight.
      const weight = this.#keys.read(key)?.weight ?? entry.weight
      const standing = this.#ownPlaces.meet({ ...entry, weight }, key, this.#leases.adopt(lease, entry.ttlMs))
      standing.token = createRevision
      standing.modRevision = modRevision
    }
  }

  #place(standing: OwnPlace, sight: Sight | null, since: Instant): Place | null {
    const {
      entry,
      lease,
      slot: { keyText },
    } = standing
    // If the place is on another lease, it was broken: it counts until that lease lapses, and nobody renews it.
    if (sight === null || lease.gone || sight.leaseId !== lease.id) {
      if (this.#ownPlaces.get(entry.id) === standing) this.#ownPlaces.remove(entry.id)
      this.#leases.release(standing)
      this.#wakeups.drop(entry.id)
      return null
    }
    const { token, ahead, revision, wanted } = sight
    standing.ahead = ahead
    standing.granted ||= isGranted(entry, { ahead })
    if (standing.granted && sight.blockers.length === 0) this.#wakeups.narrow(entry.id, keyText, revision)
    else this.#wakeups.await(entry.id, keyText, sight)
    return { token, ahead, recheckMs: null, since, wanted }
  }
}
