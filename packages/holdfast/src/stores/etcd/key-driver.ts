/**
 * The fixed-key recipe as a driver: the lock is one key, and who creates it holds it (`IF create_revision = 0 THEN put`).
 * One key in all and nobody in line: good for tries. Who waits asks again and again, and nobody is first.
 */
import { UnsupportedError } from '../../core/errors.ts'
import type { Runtime } from '../../core/runtime.ts'
import type { CellView, Change, Entry, LineView, Place, Stop, Traits, Wake } from '../../driver.ts'
import { placeView } from '../view.ts'
import { breakKey } from './breaking.ts'
import { Cells } from './cells.ts'
import { type EtcdClient, EtcdError, EtcdUnreachableError, type KeyValue } from './client/index.ts'
import { type EtcdGuard, type EtcdStore, guardOf } from './guard.ts'
import { after, escapeName, type Keys, unescapeName } from './keys.ts'
import type { Lease } from './lease.ts'
import { isLeaseGone, Leases } from './leases.ts'
import { timesLeft } from './listing.ts'
import { Lookout } from './lookout.ts'
import { readPlaceValue } from './place-value.ts'

const KEYS_PER_TXN = 128

export interface KeyDriverConfig {
  readonly client: EtcdClient
  readonly prefix: string
  /** Where cells stand: the same as in the other layouts. */
  readonly keys: Keys
  readonly timeoutMs: number
  readonly ttlMsMin: number
  readonly runtime: Pick<Runtime, 'now' | 'wallNow'>
}

/** What this process may hold: by id, with the lease that it was, or would be, put on. */
interface Holding {
  readonly entry: Entry
  readonly lease: Lease
}

export class KeyDriver implements EtcdStore {
  readonly name = 'etcd'
  readonly traits: Traits
  readonly #client: EtcdClient
  readonly #head: string
  readonly #leases: Leases
  readonly #cells: Cells
  readonly #holdings = new Map<string, Holding>()
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
    // A key here names no id, so nobody can tell whose it is: a lease in doubt is not searched, it lapses.
    this.#leases = new Leases(client, runtime, timeoutMs, { hasKey: () => true })
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
      const { since } = lease
      const value = valueOf(entry)
      const holding: Holding = { entry, lease }
      this.#holdings.set(entry.id, holding)
      lease.places.add(holding)
      try {
        const { succeeded, responses, header } = await this.#client.txn({
          compare: [{ target: 'create', result: '=', key, createRevision: 0n }],
          success: [{ put: { key, value, lease: lease.id } }],
          failure: [{ range: { key } }],
        })
        if (succeeded) return { token: header.revision, ahead: 0, recheckMs: null, since, wanted: false }
        const kv = responses[0]?.range?.kvs[0]
        if (kv !== undefined && idOf(kv) === entry.id) return (await this.touch([entry]))[0] ?? null
        this.#drop(entry.id)
        return null
      } catch (error) {
        if (isLeaseGone(error) && tries === 1) {
          this.#leases.lapsed(lease)
          continue
        }
        if ((error instanceof EtcdError || error instanceof EtcdUnreachableError) && error.mayHaveApplied) {
          this.#leases.retire(lease)
        }
        throw error
      }
    }
  }

  async touch(entries: readonly Entry[]): Promise<(Place | null)[]> {
    const held = entries.map(({ id }) => this.#holdings.get(id))
    // The keep-alives are sent before the look, as in the line layout.
    const renewals = this.#leases.heartbeat(held.filter((holding) => holding !== undefined))
    const kvs = await this.#look(entries)
    const places: (Place | null)[] = []
    for (const [i, entry] of entries.entries()) {
      const [kv, holding] = [kvs[i], held[i]]
      const since = holding && (await renewals.get(holding.lease))
      if (since === undefined || kv === undefined || idOf(kv) !== entry.id || kv.lease !== holding?.lease.id) {
        this.#drop(entry.id)
        places.push(null)
      } else places.push({ token: kv.createRevision, ahead: 0, recheckMs: null, since, wanted: false })
    }
    return places
  }

  async leave(entry: Entry): Promise<void> {
    const key = this.#key(entry.line)
    const holding = this.#drop(entry.id)
    try {
      // The value holds the id: another's key is never removed, also when its create revision was never told.
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
    const lookout = new Lookout(this.#client, this.#key(line), undefined, () => wake())
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
    return (await breakKey(this.#client, this.#key(line), now)) ? 1 : 0
  }

  guard(held: { readonly name: string; readonly token: bigint }): EtcdGuard {
    return guardOf(held, this.#key(held.name))
  }

  close(): Promise<void> {
    this.#closing ??= this.#leases.close().then(() => this.#client.close())
    return this.#closing
  }

  #drop(id: string): Holding | undefined {
    const holding = this.#holdings.get(id)
    this.#holdings.delete(id)
    if (holding !== undefined) this.#leases.release(holding)
    return holding
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

/** Made of the entry alone, so that it can be compared by whoever knows the entry. */
function valueOf({ id, ttlMs, data }: Entry): Buffer {
  return Buffer.from(`{"id":"${id}","ttlMs":${ttlMs},"data":${data}}`)
}

function idOf({ value }: KeyValue): string | null {
  return /^\{"id":"([0-9a-f]+)"/.exec(Buffer.from(value).toString())?.[1] ?? null
}
