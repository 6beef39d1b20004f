/**
 * The etcd driver: a line is a range of keys, a place is a key on a lease, and its number is the key's create revision.
 */
import type { Runtime } from '../../contract/runtime.ts'
import { LockLostError, UnsupportedError } from '../../contract/errors.ts'
import {
  type CellView,
  type Change,
  type Entry,
  isGranted,
  type LineView,
  type Place,
  type Stop,
  type Traits,
  type Wake,
} from '../../contract/driver.ts'
import { Batches } from './batch.ts'
import { BreakWakeups } from './wakeups-breaks.ts'
import { EnterAll } from './enter-all.ts'
import { Entering } from './entering.ts'
import { breakLine } from './breaking.ts'
import { Tombstones } from '../shared/tombstones.ts'
import { Cells } from './cells.ts'
import type { EtcdClient } from '../../clients/etcd/index.ts'
import { type EtcdGuard, type EtcdStore, guardOf, storeToken } from './guard.ts'
import { Renaming } from './renaming.ts'
import type { Keys } from './keys.ts'
import { Leases } from './leases.ts'
import { leaveById, leavePlace, outlastPlace } from './leaving.ts'
import { listLines } from './listing.ts'
import { Look } from './look.ts'
import { Reweighing } from './reweighing.ts'
import { OwnPlaces } from './places.ts'
import { HoldWakeups } from './wakeups-holds.ts'
import { Touching } from './touching.ts'
import { Wakeups } from './wakeups.ts'

export interface EtcdDriverConfig {
  readonly client: EtcdClient
  readonly keys: Keys
  /** Whether lines of this layout have capacities other than 1. */
  readonly counting: boolean
  readonly timeoutMs: number
  readonly ttlMsMin: number
  readonly runtime: Pick<Runtime, 'now' | 'wallNow'>
}

const SAFETY =
  'Holds while a majority of the members keeps its data and the lease lives; a client paused past its lease may ' +
  'act beside its successor, which a guard in the same etcd (the create revision of the place) refuses.'

export class EtcdDriver implements EtcdStore {
  readonly name = 'etcd'
  readonly traits: Traits
  readonly #client: EtcdClient
  readonly #runtime: Pick<Runtime, 'now' | 'wallNow'>
  readonly #timeoutMs: number
  readonly #keys: Keys
  readonly #batches: Batches
  readonly #ownPlaces: OwnPlaces
  readonly #leases: Leases
  readonly #wakeups: Wakeups
  readonly #breakWakeups: BreakWakeups
  readonly #holdWakeups: HoldWakeups
  readonly #touching: Touching
  readonly #entering: Entering
  readonly #renaming: Renaming
  readonly #reweighing: Reweighing
  readonly #together: EnterAll
  readonly #cells: Cells
  readonly #tombstones = new Tombstones()
  #closing: Promise<void> | null = null

  constructor(config: EtcdDriverConfig) {
    const { client, runtime, timeoutMs, ttlMsMin } = config
    this.traits = Object.freeze({
      fair: true,
      fenced: true,
      counting: config.counting,
      push: 'hint',
      ttlMsMin,
      lingers: true,
      scope: 'network',
      safety: SAFETY,
    })
    this.#client = client
    this.#runtime = runtime
    this.#timeoutMs = timeoutMs
    this.#keys = config.keys
    const look = new Look(this.#keys)
    this.#batches = new Batches(client)
    this.#ownPlaces = new OwnPlaces(this.#keys)
    this.#leases = new Leases(client, runtime, timeoutMs, this.#ownPlaces)
    this.#wakeups = new Wakeups(client)
    this.#breakWakeups = new BreakWakeups(client, this.#keys, this.#ownPlaces, this.#wakeups)
    this.#holdWakeups = new HoldWakeups(this.#ownPlaces, this.#wakeups)
    this.#touching = new Touching(client, this.#keys, look, this.#leases, this.#ownPlaces, this.#wakeups)
    const parts = {
      ...{ client, runtime, timeoutMs, look, keys: this.#keys, batches: this.#batches, tombstones: this.#tombstones },
      ...{ leases: this.#leases, ownPlaces: this.#ownPlaces, touching: this.#touching },
      ...{ wakeups: this.#wakeups, holdWakeups: this.#holdWakeups },
    }
    this.#entering = new Entering(parts)
    this.#renaming = new Renaming(parts)
    this.#reweighing = new Reweighing(client, this.#keys, this.#touching)
    this.#together = new EnterAll({ ...parts, leave: (entry) => this.leave(entry) })
    this.#cells = new Cells(client, this.#keys)
  }

  async enter(entry: Entry, wait: boolean): Promise<Place | null> {
    this.#check(entry)
    const isTry = !wait && entry.capacity === 1
    if (!wait && !isTry && this.#ownPlaces.get(entry.id) === undefined) {
      if (!(await this.#entering.hasRoom(entry))) return null
    }
    const place = await this.#entering.enter(entry, isTry)
    if (wait || isTry || place === null || isGranted(entry, place)) return place
    // Somebody entered between the look and our enter.
    await this.leave(entry)
    return null
  }

  async enterAll(entries: readonly Entry[]): Promise<Place[] | null> {
    for (const entry of entries) this.#check(entry)
    if (entries.some(({ id }) => this.#entering.isDead(id))) return null
    const places = await this.#together.enterAll(entries)
    // After the answer: if nothing were held when the look for lasting holds begins, it would end again.
    if (places !== null) this.#holdWakeups.begin()
    return places
  }

  async rename(entry: Entry, id: string): Promise<Place | null> {
    const place = await this.#renaming.rename(entry, id)
    if (place !== null) this.#holdWakeups.begin()
    return place
  }

  reweigh(entry: Entry, turn: number): Promise<Place | null> {
    return this.#reweighing.reweigh(entry, turn)
  }

  touch(entries: readonly Entry[]): Promise<(Place | null)[]> {
    this.#breakWakeups.listen()
    this.#holdWakeups.begin()
    return this.#touching.touch(entries)
  }

  async leave(entry: Entry, afterMs = 0): Promise<void> {
    const standing = this.#ownPlaces.remove(entry.id)
    this.#wakeups.drop(entry.id)
    // An id without an answer may still be on its way. If it is asked for again, this driver refuses it.
    if (standing === undefined || standing.token === 0n) this.#tombstones.add(entry, this.#runtime.now(), true)
    if (standing === undefined) return leaveById(this.#client, this.#keys, entry, afterMs)
    this.#leases.release(standing)
    if (this.#ownPlaces.size === 0) this.#breakWakeups.rest()
    try {
      if (afterMs > 0) await outlastPlace(this.#client, this.#keys, standing, afterMs)
      else if (await leavePlace(this.#client, this.#keys, this.#batches, standing, this.#timeoutMs)) {
        this.#ownPlaces.gone(standing)
      }
    } catch (error) {
      // Nobody knows whether the place still stands. Other places that keep its lease alive must not keep it.
      this.#leases.retire(standing.lease)
      throw error
    }
  }

  watch(line: string, id: string | null, wake: Wake): Stop | Promise<Stop> {
    return id === null ? this.#observe(line, wake) : this.#wakeups.add(id, wake)
  }

  list(prefix: string): AsyncGenerator<LineView> {
    return listLines(this.#client, this.#keys, this.#runtime, prefix)
  }

  swap(key: string, change: Change | null): Promise<CellView> {
    return this.#cells.swap(key, change)
  }

  break(line: string, now: boolean): Promise<number> {
    return breakLine(this.#client, this.#keys, line, now)
  }

  guard(held: { readonly name: string; readonly token: bigint }): EtcdGuard {
    const token = storeToken(held)
    const standing = this.#ownPlaces.of(held.name).find((place) => place.token === token)
    if (standing !== undefined) return guardOf(held, standing.slot.key)
    throw new LockLostError(`lock ${JSON.stringify(held.name)} is not held in this process with token ${held.token}`, {
      line: held.name,
    })
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #observe(line: string, wake: Wake): Promise<Stop> {
    return this.#wakeups.observe(this.#keys.line(line), wake)
  }

  /** Refuses what this layout can't do before anything is asked of the store. */
  #check({ line, capacity }: Entry): void {
    if (this.traits.counting) return
    this.#keys.line(line)
    if (capacity === 1) return
    throw new UnsupportedError('etcd: in the go layout a lock has one holder: no semaphores, no read locks', { line })
  }

  async #close(): Promise<void> {
    this.#breakWakeups.rest()
    this.#holdWakeups.close()
    await this.#leases.close()
    await this.#client.close()
  }
}
