/** Heartbeat and look for many places at once: a keep-alive for each lease, and as few reads as will do. */
import { type Entry, type Instant, isGranted, type Place } from '../../driver.ts'
import type { EtcdClient } from './client/index.ts'
import { findPlaces } from './finding.ts'
import type { Keys } from './keys.ts'
import type { Lease } from './lease.ts'
import type { Leases } from './leases.ts'
import { type Look, LOOKS_PER_TXN, type Sight } from './look.ts'
import type { Standing, Standings } from './standing.ts'
import type { Vigils } from './vigils.ts'

/** So many holds are looked at one by one, which also tells whether somebody waits behind; more are called by the roll. */
const LOOKS_MAX: number = LOOKS_PER_TXN

export class Touching {
  readonly #client: EtcdClient
  readonly #keys: Keys
  readonly #leases: Leases
  readonly #standings: Standings
  readonly #vigils: Vigils
  readonly #asking: Look

  constructor(client: EtcdClient, keys: Keys, asking: Look, leases: Leases, standings: Standings, vigils: Vigils) {
    this.#client = client
    this.#keys = keys
    this.#asking = asking
    this.#leases = leases
    this.#standings = standings
    this.#vigils = vigils
  }

  async touch(entries: readonly Entry[]): Promise<(Place | null)[]> {
    const strangers = entries.filter(({ id }) => (this.#standings.get(id)?.token ?? 0n) === 0n)
    if (strangers.length > 0) await this.#meet(strangers)
    const standings = entries.map(({ id }) => this.#standings.get(id) ?? null)
    const present = standings.filter((standing) => standing !== null)
    // The keep-alives go out first. A place that is seen to stand after they were sent stands for one ttl from then,
    // whatever happens to it: were the look older, a place broken in between would be believed in for too long.
    const renewals = this.#leases.heartbeat(present)
    const seen = await this.#see(present, renewals)
    const places: (Place | null)[] = []
    for (const standing of standings) {
      if (standing === null) {
        places.push(null)
        continue
      }
      const since = await (renewals.get(standing.lease) as Promise<Instant>)
      places.push(this.#place(standing, seen.get(standing) ?? null, since))
    }
    return places
  }

  async #see(standings: readonly Standing[], renewals: Map<Lease, Promise<Instant>>): Promise<Map<Standing, Sight>> {
    const holds = standings.filter(({ granted }) => granted)
    const called = new Set(holds.length > LOOKS_MAX ? holds : [])
    const looks = this.#look(standings.filter((standing) => !called.has(standing)))
    const leases = new Set([...called].map(({ lease }) => lease))
    // A lease with a doubt on it is called by the roll at every heartbeat, to find what nobody wants.
    for (const lease of renewals.keys()) if (lease.retired) leases.add(lease)
    const rolls = Promise.all(
      [...leases].map(async (lease): Promise<[Lease, ReadonlySet<string>]> => {
        return [lease, await this.#leases.rollCall(lease, lease.asks.at(-1) ?? lease.since)]
      }),
    )
    const [seen, presence] = await Promise.all([looks, rolls])
    const present = new Map(presence)
    const unheard: Standing[] = []
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
        wanted: false,
        blockers: [],
        isNext: false,
        revision: 0n,
      })
    }
    // A roll proves who is there, not who is gone. The roll is called; a place is entered; its heartbeat, which is due at once
    // since the lease is old, shares that roll. Or a follower has answered an enter that the leader, who calls the roll, has
    // yet to carry out. So those who did not answer are looked at.
    for (const [standing, sight] of await this.#look(unheard)) seen.set(standing, sight)
    return seen
  }

  async #look(standings: readonly Standing[]): Promise<Map<Standing, Sight>> {
    const seen = new Map<Standing, Sight>()
    const parts: Promise<void>[] = []
    for (let at = 0; at < standings.length; at += LOOKS_PER_TXN) {
      parts.push(this.#lookAt(standings.slice(at, at + LOOKS_PER_TXN), seen))
    }
    await Promise.all(parts)
    return seen
  }

  async #lookAt(standings: readonly Standing[], seen: Map<Standing, Sight>): Promise<void> {
    const answer = await this.#client.txn(this.#asking.lookTxn(standings))
    for (const [i, standing] of standings.entries()) {
      const sight = this.#asking.sight(standing, i, answer)
      if (sight !== null) seen.set(standing, sight)
    }
  }

  /** Finds places that are known by their ids only: entered by an unanswered request, or by another thread. */
  async #meet(entries: readonly Entry[]): Promise<void> {
    const found = await findPlaces(this.#client, this.#keys, entries)
    for (const [i, entry] of entries.entries()) {
      const place = found[i]
      // Broken, or left to outlast its owner: to renew the lease that it stands on now would revive it.
      if (place === undefined || place.kv.lease === 0n || place.value.broken) continue
      const { key, lease, createRevision, modRevision } = place.kv
      const standing = this.#standings.meet(entry, key, this.#leases.adopt(lease, entry.ttlMs))
      standing.token = createRevision
      standing.modRevision = modRevision
    }
  }

  #place(standing: Standing, sight: Sight | null, since: Instant): Place | null {
    const {
      entry,
      lease,
      slot: { keyText },
    } = standing
    // On another lease it was broken: it weighs until that one lapses, and nobody renews it.
    if (sight === null || lease.gone || sight.leaseId !== lease.id) {
      if (this.#standings.get(entry.id) === standing) this.#standings.remove(entry.id)
      this.#leases.release(standing)
      this.#vigils.drop(entry.id)
      return null
    }
    const { token, ahead, revision, wanted } = sight
    standing.ahead = ahead
    standing.granted ||= isGranted(entry, { ahead })
    if (standing.granted) this.#vigils.narrow(entry.id, keyText, revision)
    else this.#vigils.await(entry.id, keyText, sight)
    return { token, ahead, recheckMs: null, since, wanted }
  }
}
