/**
 * The fixed-key recipe as a driver: the lock is one key, and whoever creates it holds the lock (`IF create_revision = 0
 * THEN put`). There is one key and no queue, which is good for tries. A waiter asks again and again, and nobody is
 * first.
 */
import { UnsupportedError } from '../../contract/errors.ts'
import type { Runtime } from '../../contract/runtime.ts'
import type { CellView, Change, Entry, LineView, Place, Stop, Traits, Wake } from '../../contract/driver.ts'
import { placeView } from '../view.ts'
import { breakKey } from './breaking.ts'
import { Tombstones } from '../shared/tombstones.ts'
import { Cells } from './cells.ts'
import type { EtcdClient, KeyValue } from '../../clients/etcd/index.ts'
import { type EtcdGuard, type EtcdStore, guardOf } from './guard.ts'
import { after, escapeName, type Keys, unescapeName } from './keys.ts'
import type { Lease } from './lease.ts'
import { isLeaseGone, Leases, mayHaveApplied } from './leases.ts'
import { timesLeft } from './listing.ts'
import { LastingWatch } from './lasting-watch.ts'
import { readPlaceValue } from './place-value.ts'

const KEYS_PER_TXN = 128

export interface KeyDriverConfig {
  readonly client: EtcdClient
  readonly prefix: string
  /** The keys of cells: the same as in the other layouts. */
  readonly keys: Keys
  readonly timeoutMs: number
  readonly ttlMsMin: number
  readonly runtime: Pick<Runtime, 'now' | 'wallNow'>
}

/** What this process holds, or may hold. */
interface Holding {
  readonly entry: Entry
  readonly keyText: string
  /** The lease on which the key was put, or may have been. */
  lease: Lease
  /** An answer has confirmed that the key is there. */
  isKnown: boolean
}

export class KeyDriver implements EtcdStore {
  readonly name = 'etcd'
  readonly traits: Traits
  readonly #client: EtcdClient
  readonly #head: string
  readonly #leases: Leases
  readonly #cells: Cells
  readonly #runtime: KeyDriverConfig['runtime']
  readonly #tombstones = new Tombstones()
  /** By id. */
  readonly #holdings = new Map<string, Holding>()
  readonly #byKey = new Map<string, Set<Holding>>()
  #closing: Promise<void> | null = null

  constructor({ client, prefix, keys, timeoutMs, ttlMsMin, runtime }: KeyDriverConfig) {
    this.traits = Object.freeze({
      fair: false,
      fenced: true,
      counting: false,
      push: 'none',
      ttlMsMin,
      lingers: false,
      scope: 'network',
      safety: 'One key per lock: holds as the line layout does, but whoever asks at the right moment is next.',
    })
    this.#client = client
    this.#head = `${prefix}/key/`
    this.#cells = new Cells(client, keys)
    this.#runtime = runtime
    this.#leases = new Leases(client, runtime, timeoutMs, { wants: (key, lease) => this.#wants(key, lease) })
  }

  async enter(entry: Entry, _wait: boolean): Promise<Place | null> {
    if (entry.capacity !== 1) {
      throw new UnsupportedError('etcd: a fixed key has room for one: no semaphores, no read-write locks', {
        line: entry.line,
      })
    }
    const key = this.#key(entry.line)
    for (let tries = 1; ; tries++) {
      const lease = this.#leases.ready(entry.ttlMs) ?? (await this.#leases.fresh(entry.ttlMs))
      if (this.#isDead(entry.id)) return null
      const { since } = lease
      const holding = this.#hang(entry, lease)
      try {
        const { succeeded, responses, header } = await this.#client.txn({
          compare: [{ target: 'create', result: '=', key, createRevision: 0n }],
          success: [{ put: { key, value: valueOf(entry), lease: lease.id } }],
          failure: [{ range: { key } }],
        })
        if (succeeded) {
          holding.isKnown = true
          return { token: header.revision, ahead: 0, recheckMs: null, since, wanted: true }
        }
        if (this.#meet(entry, responses[0]?.range?.kvs[0])) return (await this.touch([entry]))[0] ?? null
        this.#drop(entry.id)
        return null
      } catch (error) {
        if (isLeaseGone(error) && tries === 1) {
          this.#leases.lapsed(lease)
          continue
        }
        if (mayHaveApplied(error)) this.#leases.retire(lease)
        else if (!holding.isKnown) this.#drop(entry.id)
        throw error
      }
    }
  }

  async touch(entries: readonly Entry[]): Promise<(Place | null)[]> {
    const strangers = entries.filter(({ id }) => this.#holdings.get(id)?.isKnown !== true)
    for (const [i, kv] of (await this.#look(strangers)).entries()) this.#meet(strangers[i] as Entry, kv)
    const held = entries.map(({ id }) => this.#holdings.get(id))
    // Send the keep-alives before the look, as in the line layout.
    const renewals = this.#leases.heartbeat(held.filter((holding) => holding !== undefined))
    // On a lease with a doubtful request, every heartbeat calls the roll, to find a key that nobody wants.
    const rolls = [...renewals.keys()].filter(({ retired }) => retired)
    const [kvs] = await Promise.all([
      this.#look(entries),
      ...rolls.map((lease) => this.#leases.rollCall(lease, lease.asks.at(-1) ?? lease.since)),
    ])
    const places: (Place | null)[] = []
    for (const [i, entry] of entries.entries()) {
      const [kv, holding] = [kvs[i], held[i]]
      const since = holding && (await renewals.get(holding.lease))
      // If the key is on another lease, it was broken: it counts until that lease lapses, and nobody renews it.
      if (since === undefined || kv === undefined || idOf(kv) !== entry.id || kv.lease !== holding?.lease.id) {
        this.#drop(entry.id)
        places.push(null)
      } else places.push({ token: kv.createRevision, ahead: 0, recheckMs: null, since, wanted: true })
    }
    return places
  }

  async leave(entry: Entry): Promise<void> {
    const key = this.#key(entry.line)
    const holding = this.#drop(entry.id)
    // An id without an answer may still be on its way. If it is asked for again, this driver refuses it.
    if (holding?.isKnown !== true) this.#tombstones.add(entry, this.#runtime.now(), true)
    try {
      // The value holds the id, so this never removes another holder's key, even if the create revision was never told.
      // It does not remove a broken key either, whose value says so: that counts until its lease has run out.
      await this.#client.txn({
        compare: [{ target: 'value', result: '=', key, value: valueOf(entry) }],
        success: [{ deleteRange: { key } }],
      })
    } catch (error) {
      if (holding !== undefined) this.#leases.retire(holding.lease)
      throw error
    }
  }

  watch(line: string, id: string | null, wake: Wake): Stop | Promise<Stop> {
    if (id !== null) return () => {}
    const lookout = new LastingWatch(this.#client, this.#key(line), undefined, () => wake())
    return lookout.open().then(() => () => lookout.close())
  }

  async *list(prefix: string): AsyncGenerator<LineView> {
    const key = this.#key(prefix)
    const { kvs } = await this.#client.range({ key, rangeEnd: after(key) })
    const leftMs = await timesLeft(this.#client, new Set(kvs.map(({ lease }) => lease)))
    for (const kv of kvs) {
      const name = unescapeName(Buffer.from(kv.key).toString().slice(this.#head.length))
      const times = { ageMs: 0, leftMs: leftMs.get(kv.lease) ?? 0 }
      const holder = placeView({ token: kv.createRevision, weight: 1, data: readPlaceValue(kv.value).data }, times)
      yield { name, capacity: 1, holders: [holder], waiters: [] }
    }
  }

  swap(key: string, change: Change | null): Promise<CellView> {
    return this.#cells.swap(key, change)
  }

  async break(line: string, now: boolean): Promise<number> {
    return (await breakKey(this.#client, line, this.#key(line), now)) ? 1 : 0
  }

  guard(held: { readonly name: string; readonly token: bigint }): EtcdGuard {
    return guardOf(held, this.#key(held.name))
  }

  close(): Promise<void> {
    this.#closing ??= this.#leases.close().then(() => this.#client.close())
    return this.#closing
  }

  /**
   * One object for an id, however often it is asked for: its last release must end the doubt about it on every lease.
   */
  #hang(entry: Entry, lease: Lease): Holding {
    const holding = this.#holdings.get(entry.id) ?? this.#insert(entry, lease)
    holding.lease = lease
    lease.places.add(holding)
    return holding
  }

  /**
   * Takes up a key that an earlier request made, on whatever lease: the answer was lost, or another thread had asked.
   * Otherwise the key would block its lock for as long as other holds keep that lease alive. False: the key belongs to
   * another holder.
   */
  #meet(entry: Entry, kv: KeyValue | undefined): boolean {
    if (kv === undefined || idOf(kv) !== entry.id) return false
    // The key is broken: renewing its present lease would revive it.
    if (kv.lease === 0n || readPlaceValue(kv.value).broken) return false
    this.#hang(entry, this.#leases.adopt(kv.lease, entry.ttlMs)).isKnown = true
    return true
  }

  #insert(entry: Entry, lease: Lease): Holding {
    const holding: Holding = { entry, keyText: this.#key(entry.line).toString(), lease, isKnown: false }
    this.#holdings.set(entry.id, holding)
    this.#byKey.set(holding.keyText, (this.#byKey.get(holding.keyText) ?? new Set()).add(holding))
    return holding
  }

  #wants(key: string, lease: Lease): boolean {
    for (const holding of this.#byKey.get(key) ?? []) if (lease.places.has(holding)) return true
    return false
  }

  #drop(id: string): Holding | undefined {
    const holding = this.#holdings.get(id)
    if (holding === undefined) return undefined
    this.#holdings.delete(id)
    const all = this.#byKey.get(holding.keyText)
    all?.delete(holding)
    if (all?.size === 0) this.#byKey.delete(holding.keyText)
    this.#leases.release(holding)
    return holding
  }

  #isDead(id: string): boolean {
    return this.#tombstones.find(id, this.#runtime.now()) === true
  }

  #key(line: string): Buffer {
    return Buffer.from(this.#head + escapeName(line))
  }

  async #look(entries: readonly Entry[]): Promise<(KeyValue | undefined)[]> {
    const kvs: (KeyValue | undefined)[] = []
    for (let at = 0; at < entries.length; at += KEYS_PER_TXN) {
      const part = entries.slice(at, at + KEYS_PER_TXN)
      const success = part.map(({ line }) => ({ range: { key: this.#key(line) } }))
      const { responses } = await this.#client.txn({ success })
      kvs.push(...part.map((_, i) => responses[i]?.range?.kvs[0]))
    }
    return kvs
  }
}

/** Made of the entry alone, so that whoever knows the entry can compare the value. */
function valueOf({ id, ttlMs, data }: Entry): Buffer {
  return Buffer.from(`{"id":"${id}","ttlMs":${ttlMs},"data":${data}}`)
}

function idOf({ value }: KeyValue): string | null {
  return /^\{"id":"([0-9a-f]+)"/.exec(Buffer.from(value).toString())?.[1] ?? null
}
