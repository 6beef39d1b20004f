/**
 * The leases of this process: one for all places of a ttl, kept alive on one stream. A heartbeat or an enter asks for
 * the renewal it needs; if nobody asks, a lease lapses.
 */
import type { Runtime } from '../../contract/runtime.ts'
import { instant } from '../../contract/validity.ts'
import { StoreUnreachableError } from '../../contract/errors.ts'
import type { Entry, Instant } from '../../contract/driver.ts'
import {
  EtcdError,
  EtcdUnreachableError,
  type EtcdClient,
  type KeepAlive,
  type KeepAliveReply,
} from '../../clients/etcd/index.ts'
import { within } from '../shared/deadline.ts'
import { type Hanging, Lease } from './lease.ts'

// Shares of the ttl. Core sends heartbeats at a third. Leases nearly as old as that are renewed then, younger ones are
// not.
const REFRESH = 0.1
const STALE = 0.25
const ROLL_CALL_FRESH_MS = 1_000
const NOT_FOUND = 5

/** Whether a key on a lease of this process belongs to a place that somebody here wants. */
export interface Wanted {
  wants(key: string, lease: Lease): boolean
}

export class Leases {
  readonly #client: EtcdClient
  readonly #runtime: Pick<Runtime, 'now' | 'wallNow'>
  readonly #timeoutMs: number
  readonly #wanted: Wanted
  readonly #keepAlive: KeepAlive
  /** By the whole seconds that were asked for. */
  readonly #current = new Map<number, Lease>()
  readonly #granting = new Map<number, Promise<Lease>>()
  readonly #byId = new Map<bigint, Lease>()
  readonly #waiting = new Map<Lease, { resolve(since: Instant): void; reject(error: Error): void }>()

  constructor(client: EtcdClient, runtime: Pick<Runtime, 'now' | 'wallNow'>, timeoutMs: number, wanted: Wanted) {
    this.#client = client
    this.#runtime = runtime
    this.#timeoutMs = timeoutMs
    this.#wanted = wanted
    this.#keepAlive = client.keepAlive({
      onReply: (reply) => this.#onReply(reply),
      // Broken streams are replaced and the question asked again; only a refusal ends a question before its time.
      onTrouble: (error) => {
        if (!(error instanceof EtcdError)) return
        for (const { reject } of [...this.#waiting.values()]) reject(error)
      },
    })
  }

  /** A lease for new places, if one was renewed lately. */
  ready(ttlMs: number): Lease | null {
    const lease = this.#current.get(toSeconds(ttlMs))
    if (lease === undefined) return null
    const ageMs = this.#ageMs(lease)
    if (ageMs >= ttlMs * STALE) return null
    if (ageMs >= ttlMs * REFRESH && lease.renewal === null) {
      // In the background. If this fails, the lease gets stale, and the next caller that needs it asks and waits.
      this.renew(lease).then(undefined, nobodyWaits)
    }
    return lease
  }

  /** A lease for new places; if none is fresh, the old one renewed, or a new one. */
  async fresh(ttlMs: number): Promise<Lease> {
    const lease = this.#current.get(toSeconds(ttlMs))
    if (lease !== undefined && this.#ageMs(lease) < lease.ttlMs) {
      await this.renew(lease)
      if (!lease.gone && !lease.retired) return lease
    }
    return this.#grant(toSeconds(ttlMs))
  }

  /** A lease for new places, whatever that takes. */
  async current(ttlMs: number): Promise<Lease> {
    return this.ready(ttlMs) ?? (await this.fresh(ttlMs))
  }

  /**
   * A lease of its own for one place. Unless somebody touches the place, the lease lapses. It is not revoked, even when
   * this object closes.
   */
  async apart(ttlMs: number): Promise<Lease> {
    const since = instant(this.#runtime)
    const { id, ttlS } = await this.#client.lease.grant({ ttlS: toSeconds(ttlMs) }, { timeoutMs: this.#timeoutMs })
    const lease = new Lease(id, ttlS * 1_000, since, false)
    this.#byId.set(id, lease)
    return lease
  }

  /**
   * Renews by one more ttl. Sends the keep-alive at once unless one is under way. Resolves with the instant from which
   * the ttl counts.
   */
  renew(lease: Lease): Promise<Instant> {
    lease.renewal ??= this.#ask(lease)
    return lease.renewal
  }

  /** Renews the leases of these places, and returns for each the instant from which its ttl counts. Sends at once. */
  heartbeat(places: Iterable<{ readonly lease: Lease; readonly entry: Entry }>): Map<Lease, Promise<Instant>> {
    const renewals = new Map<Lease, Promise<Instant>>()
    for (const { lease, entry } of places) {
      if (renewals.has(lease)) continue
      const isStale = this.#ageMs(lease) >= entry.ttlMs * STALE
      const renewal = isStale ? this.renew(lease) : Promise.resolve(lease.since)
      // The caller awaits this after its look. Until then a rejection must not count as unhandled.
      renewal.then(undefined, nobodyWaits)
      renewals.set(lease, renewal)
    }
    return renewals
  }

  /** A lease that was granted to another process, or thread: from now on it is kept alive from here. */
  adopt(id: bigint, ttlMs: number): Lease {
    const known = this.#byId.get(id)
    if (known !== undefined) return known
    const now = instant(this.#runtime)
    // Nobody knows how old the lease is, so assume that it is too old.
    const since = { monoMs: now.monoMs - ttlMs, wallMs: now.wallMs - ttlMs }
    const lease = new Lease(id, ttlMs, since, false)
    this.#byId.set(id, lease)
    return lease
  }

  /** etcd says that the lease is gone. */
  lapsed(lease: Lease): void {
    lease.gone = true
    this.#forget(lease)
  }

  /**
   * A request for one of its places got no answer. The request may be carried out later, when nobody remembers it. On a
   * lease that others keep alive, such a ghost would block its line for as long as they live. So the lease takes no new
   * places, the places it has keep calling the roll, and when they have gone it is revoked: etcd then refuses late
   * requests.
   */
  retire(lease: Lease): void {
    lease.retired = true
    this.#unlist(lease)
    this.#endIfEmpty(lease)
  }

  /** The place is not kept any more. */
  release(place: Hanging): void {
    // An enter that was asked twice may have put the place on either of two leases.
    for (const lease of this.#byId.values()) {
      if (lease.places.delete(place)) this.#endIfEmpty(lease)
    }
  }

  /** Which keys are on the lease: one request for any number of places. */
  rollCall(lease: Lease, after: Instant): Promise<ReadonlySet<string>> {
    const last = lease.rollCall
    const now = this.#runtime.now()
    if (last !== null && last.sentMonoMs >= after.monoMs && now - last.sentMonoMs < ROLL_CALL_FRESH_MS) return last.keys
    const keys = this.#callRoll(lease)
    lease.rollCall = { sentMonoMs: now, keys }
    return keys
  }

  /** Ends all leases of its own, so that their places go at once and not after a ttl. */
  async close(): Promise<void> {
    this.#keepAlive.close()
    // A place that must outlive its process is not removed: it lapses.
    const own = [...this.#byId.values()].filter((lease) => lease.own && !lease.gone && !hasOutliving(lease))
    this.#byId.clear()
    this.#current.clear()
    await Promise.all(own.map((lease) => this.#revoke(lease)))
  }

  #ageMs(lease: Lease): number {
    return this.#runtime.now() - lease.since.monoMs
  }

  #grant(seconds: number): Promise<Lease> {
    const granting =
      this.#granting.get(seconds) ??
      this.#askForLease(seconds).finally(() => {
        this.#granting.delete(seconds)
      })
    this.#granting.set(seconds, granting)
    return granting
  }

  async #askForLease(seconds: number): Promise<Lease> {
    const since = instant(this.#runtime)
    const { id, ttlS } = await this.#client.lease.grant({ ttlS: seconds }, { timeoutMs: this.#timeoutMs })
    const lease = new Lease(id, ttlS * 1_000, since, true)
    const former = this.#current.get(seconds)
    this.#byId.set(id, lease)
    this.#current.set(seconds, lease)
    // The former lease is still kept alive for its places, if it lives; it takes no new ones.
    if (former !== undefined) this.retire(former)
    return lease
  }

  async #ask(lease: Lease): Promise<Instant> {
    const timeoutMs = Math.min(this.#timeoutMs, Math.max(lease.ttlMs, 1_000))
    const late = (): Error => new StoreUnreachableError(`etcd: a keep-alive got no answer in ${timeoutMs} ms`)
    const answer = new Promise<Instant>((resolve, reject) => {
      this.#waiting.set(lease, { resolve, reject })
    })
    lease.asks.push(instant(this.#runtime))
    // After so short a time another member is asked, while the lease still has most of its time.
    this.#keepAlive.send(lease.id, Math.min(2_000, Math.max(500, lease.ttlMs / 4)))
    try {
      // In the background, because a hold must not keep its process alive. A caller that waits for a lock has a timer
      // of core's that does.
      return await within(answer, performance.now() + timeoutMs, late, true)
    } finally {
      this.#waiting.delete(lease)
      lease.renewal = null
    }
  }

  #onReply(reply: KeepAliveReply): void {
    const lease = this.#byId.get(reply.id)
    if (lease === undefined) return
    if (reply.ttlS === 0) this.lapsed(lease)
    else {
      // A question that was sent again was sent later than it was asked: the earlier instant counts.
      const asked = lease.asks.findLast((ask) => ask.monoMs <= reply.sentAtMs)
      if (asked !== undefined && asked.monoMs > lease.since.monoMs) lease.since = asked
      lease.asks = lease.asks.filter((ask) => ask.monoMs > reply.sentAtMs)
    }
    this.#waiting.get(lease)?.resolve(lease.since)
  }

  async #callRoll(lease: Lease): Promise<ReadonlySet<string>> {
    const { ttlS, keys } = await this.#client.lease.timeToLive({ id: lease.id, keys: true })
    if (ttlS <= 0) this.lapsed(lease)
    const present = new Set(keys.map((key) => Buffer.from(key.buffer, key.byteOffset, key.length).toString()))
    this.#reap(lease, present)
    return present
  }

  /**
   * Removes keys that nobody here wants, once two roll calls have shown them: a place that is just being left belongs
   * to nobody for a moment, too.
   */
  #reap(lease: Lease, present: ReadonlySet<string>): void {
    if (!lease.own) return
    const strays = new Set<string>()
    for (const key of present) {
      if (this.#wanted.wants(key, lease)) continue
      if (!lease.strays.has(key)) strays.add(key)
      // In the background; if this fails, the next roll call finds the key again.
      else this.#remove(key, lease).then(undefined, nobodyWaits)
    }
    lease.strays = strays
  }

  /** Removes only the key as it is now: a moment later the key may belong to a place that somebody wants. */
  async #remove(keyText: string, lease: Lease): Promise<void> {
    const key = Buffer.from(keyText)
    const kv = (await this.#client.range({ key, keysOnly: true })).kvs[0]
    if (kv === undefined || kv.lease !== lease.id || this.#wanted.wants(keyText, lease)) return
    const compare = [{ target: 'mod', result: '=', key, modRevision: kv.modRevision }] as const
    await this.#client.txn({ compare, success: [{ deleteRange: { key } }] })
  }

  #unlist(lease: Lease): void {
    for (const [seconds, current] of this.#current) if (current === lease) this.#current.delete(seconds)
  }

  #forget(lease: Lease): void {
    this.#unlist(lease)
    this.#byId.delete(lease.id)
  }

  #endIfEmpty(lease: Lease): void {
    if (lease.gone || lease.places.size > 0 || (lease.own && !lease.retired)) return
    this.#forget(lease)
    // A lease that another process was granted is not ours to revoke.
    if (lease.own) void this.#revoke(lease)
  }

  /** Never rejects: a lease that can't be revoked is not renewed either, and lapses. */
  async #revoke(lease: Lease): Promise<void> {
    lease.gone = true
    await this.#client.lease
      .revoke(lease.id, { timeoutMs: Math.min(this.#timeoutMs, 2_000) })
      .then(undefined, nobodyWaits)
  }
}

/** The refusal says that the lease for a place has lapsed. */
export function isLeaseGone(error: unknown): boolean {
  return error instanceof EtcdError && error.status === NOT_FOUND
}

/** The answer says that nothing was carried out. */
export function isRefused(error: unknown): boolean {
  return error instanceof EtcdError && !error.mayHaveApplied
}

/** No answer says that the request was not carried out. */
export function mayHaveApplied(error: unknown): boolean {
  return (error instanceof EtcdError || error instanceof EtcdUnreachableError) && error.mayHaveApplied
}

function hasOutliving({ places }: Lease): boolean {
  for (const { entry } of places) if (entry.outlives === true) return true
  return false
}

function toSeconds(ttlMs: number): number {
  return Math.ceil(ttlMs / 1_000)
}

/** The next request, or the lease's own end, mends what goes wrong in the background. */
function nobodyWaits(_error: unknown): void {}
