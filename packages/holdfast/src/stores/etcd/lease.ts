/** One etcd lease of this process: since when its ttl counts, and which places are on it. */
import type { Entry, Instant } from '../../contract/driver.ts'

/** A place on a lease. */
export interface Hanging {
  readonly entry: Entry
}

/** Which keys were on the lease, as of one answer. */
export interface RollCall {
  readonly sentMonoMs: number
  readonly keys: Promise<ReadonlySet<string>>
}

export class Lease {
  readonly id: bigint
  /** The ttl that etcd granted: at least what was asked for. */
  readonly ttlMs: number
  /** True: granted to this process. False: found on a place that another process entered. */
  readonly own: boolean
  /** The instant before the last answered keep-alive was sent: etcd counts the ttl from later than this. */
  since: Instant
  /** etcd has said that there is no such lease: its places are gone. */
  gone = false
  /**
   * True: it takes no new places. A request for one of its places got no answer, so a place that nobody wants may be on
   * it.
   */
  retired = false
  /** The places on it, or those that may be on it, that this process wants. */
  readonly places: Set<Hanging> = new Set()
  /** The keep-alives that were sent and have no answer yet, oldest first. */
  asks: Instant[] = []
  /** Settles with the answer to the renewal that callers await. */
  renewal: Promise<Instant> | null = null
  rollCall: RollCall | null = null
  /** Keys on the lease that belonged to nobody at the last roll call. */
  strays: ReadonlySet<string> = new Set()

  constructor(id: bigint, ttlMs: number, since: Instant, own: boolean) {
    this.id = id
    this.ttlMs = ttlMs
    this.since = since
    this.own = own
  }
}
