/**
 * The leases of this process: one for all places of a ttl, kept alive on one stream.
 * Renewal is asked for by whoever needs it (a heartbeat, an enter); without anybody asking, a lease lapses.
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

// Shares of the ttl. Core sends heartbeats at a third; what is nearly as old is renewed then, what is younger is not.
const REFRESH = 0.1
const STALE = 0.25
const ROLL_CALL_FRESH_MS = 1_000
const NOT_FOUND = 5

/** Whether a key that hangs on a lease of this process is that of a place that somebody here wants. */
export interface Wanted {
  wants(key: string, lease: Lease): boolean
}

export class Leases {
  readonly #client: EtcdClient
  readonly #runtime: Pick<Runtime, 'now' | 'wallNow'>
  readonly #timeoutMs: number
  readonly #wanted: Wanted
  readonly #keepAlive: KeepAlive
  /** By whole seconds asked for. */
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
      // Broken streams are replaced and the question asked again; only a refusal ends it before its time.
      onTrouble: (error) => {
        if (!(error instanceof EtcdError)) return
        for (const { reject } of [...this.#waiting.values()]) reject(error)
      },
    })
  }

  /** A lease that new places may hang on, if there is one that was renewed lately. */
  ready(ttlMs: number): Lease | null {
    const lease = this.#current.get(toSeconds(ttlMs))
    if (lease === undefined) return null
    const ageMs = this.#ageMs(lease)
    if (ageMs >= ttlMs * STALE) return null
    if (ageMs >= ttlMs * REFRESH && lease.renewal === null) {
      // In the background. If it fails the lease gets stale, and then whoever needs it asks, and waits.
      this.renew(lease).then(undefined, nobodyWaits)
    }
    return lease
  }

  /** The same, and if there is none: the old one renewed, or a new one. */
  async fresh(ttlMs: number): Promise<Lease> {
    const lease = this.#current.get(toSeconds(ttlMs))
    if (lease !== undefined && this.#ageMs(lease) < lease.ttlMs) {
      await this.renew(lease)
      if (!lease.gone && !lease.retired) return lease
    }
    return this.#grant(toSeconds(ttlMs))
  }

  /** One that new places may hang on, whatever that takes. */
  async current(ttlMs: number): Promise<Lease> {
    return this.ready(ttlMs) ?? (await this.fresh(ttlMs))
  }

  /**
   * A lease of its own for one place. Unless somebody touches the place it lapses; it is not revoked, also when this
   * closes.
   */
  async apart(ttlMs: number): Promise<Lease> {
    const since = instant(this.#runtime)
    const { id, ttlS } = await this.#client.lease.grant({ ttlS: toSeconds(ttlMs) }, { timeoutMs: this.#timeoutMs })
    const lease = new Lease(id, ttlS * 1_000, since, false)
    this.#byId.set(id, lease)
    return lease
  }

  /** One more ttl. Sends the keep-alive at once unless one is under way; answers from when the ttl counts. */
  renew(lease: Lease): Promise<Instant> {
    lease.renewal ??= this.#ask(lease)
    return lease.renewal
  }

  /**
   * A heartbeat's part in it: the leases of these places, each with the instant from which its ttl counts. Sent at
   * once.
   */
  heartbeat(places: Iterable<{ readonly lease: Lease; readonly entry: Entry }>): Map<Lease, Promise<Instant>> {
    const renewals = new Map<Lease, Promise<Instant>>()
    for (const { lease, entry } of places) {
      if (renewals.has(lease)) continue
      const isStale = this.#ageMs(lease) >= entry.ttlMs * STALE
      const renewal = isStale ? this.renew(lease) : Promise.resolve(lease.since)
      // The caller awaits it after its look; until then a rejection is not unheard of.
      renewal.then(undefined, nobodyWaits)
      renewals.set(lease, renewal)
    }
    return renewals
  }

  /** A lease that another process, or thread, was granted: its places are to be kept alive from here. */
  adopt(id: bigint, ttlMs: number): Lease {
    const known = this.#byId.get(id)
    if (known !== undefined) return known
    const now = instant(this.#runtime)
    // Nobody has told how old it is, so it is taken to be too old.
    const since = { monoMs: now.monoMs - ttlMs, wallMs: now.wallMs - ttlMs }
    const lease = new Lease(id, ttlMs, since, false)
    this.#byId.set(id, lease)
    return lease
  }

  /** etcd doesn't know it any more. */
  lapsed(lease: Lease): void {
    lease.gone = true
    this.#forget(lease)
  }

  /**
   * A request for one of its places got no answer. It may be carried out later, when nobody remembers it; on a lease
   * that others keep alive such a ghost would block its line for as long as they live. So no new places hang on it, the
   * ones it has keep calling the roll, and when they have gone it is revoked: etcd then refuses what comes late.
   */
  retire(lease: Lease): void {
    lease.retired = true
    this.#unlist(lease)
    this.#endIfEmpty(lease)
  }

  /** The place is no longer kept. */
  release(place: Hanging): void {
    // An enter that was asked twice may have hung it on either of two leases.
    for (const lease of this.#byId.values()) {
      if (lease.places.delete(place)) this.#endIfEmpty(lease)
    }
  }

  /** Which keys hang on the lease: one request for any number of places. */
  rollCall(lease: Lease, after: Instant): Promise<ReadonlySet<string>> {
    const last = lease.rollCall
    const now = this.#runtime.now()
    if (last !== null && last.sentMonoMs >= after.monoMs && now - last.sentMonoMs < ROLL_CALL_FRESH_MS) return last.keys
    const keys = this.#callRoll(lease)
    lease.rollCall = { sentMonoMs: now, keys }
    return keys
  }

  /** Ends all leases of its own: what hangs on them goes at once, not after a ttl. */
  async close(): Promise<void> {
    this.#keepAlive.close()
    // What is to outlive its process is not taken away: it lapses.
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
    // Its places are still kept alive, if it lives; it takes no more of them.
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
    // So soon another member is asked, while the lease still has most of its time.
    this.#keepAlive.send(lease.id, Math.min(2_000, Math.max(500, lease.ttlMs / 4)))
    try {
      // In the background: a hold must not keep its process alive; whoever waits for a lock has a timer of core's that
      // does.
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
      // A question that had to be sent again was sent later than it was asked: the earlier instant counts.
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
   * Removes what nobody here wants. Seen twice, since a place that is just being left is nobody's for a moment, too.
   */
  #reap(lease: Lease, present: ReadonlySet<string>): void {
    if (!lease.own) return
    const strays = new Set<string>()
    for (const key of present) {
      if (this.#wanted.wants(key, lease)) continue
      if (!lease.strays.has(key)) strays.add(key)
      // In the background; what fails is found again by the next roll call.
      else this.#remove(key, lease).then(undefined, nobodyWaits)
    }
    lease.strays = strays
  }

  /** Just what stands there now: a moment later the key may be that of a place that somebody wants. */
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
    // One that another was granted is that one's to revoke.
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

/** The refusal says that the lease a place was to hang on has lapsed. */
export function isLeaseGone(error: unknown): boolean {
  return error instanceof EtcdError && error.status === NOT_FOUND
}

/** The answer says that nothing was carried out. */
export function isRefused(error: unknown): boolean {
  return error instanceof EtcdError && !error.mayHaveApplied
}

/** The request got no answer that says that it was not carried out. */
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

/** What goes wrong in the background is mended by the next request, or by the lease's own end. */
function nobodyWaits(_error: unknown): void {}
