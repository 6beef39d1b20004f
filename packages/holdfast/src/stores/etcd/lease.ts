/** One etcd lease of this process: since when its ttl counts, and which places hang on it. */
import type { Entry, Instant } from '../../contract/driver.ts'

/** What hangs on a lease. */
export interface Hanging {
  readonly entry: Entry
}

/** Which keys hung on the lease, as of one answer. */
export interface RollCall {
  readonly sentMonoMs: number
  readonly keys: Promise<ReadonlySet<string>>
}

export class Lease {
  readonly id: bigint
  /** What etcd granted: at least what was asked for. */
  readonly ttlMs: number
  /** Granted to this process, not found on a place that another one entered. */
  readonly own: boolean
  /** Before the sending of the last keep-alive that was answered: etcd counts the ttl from later than this. */
  since: Instant
  /** etcd has said that there is no such lease: its places are gone. */
  gone = false
  /**
   * Takes no new places: a request for one of its places got no answer, so a place that nobody wants may stand on it.
   */
  retired = false
  /** What hangs on it, or may, for those here who want it. */
  readonly places: Set<Hanging> = new Set()
  /** The keep-alives sent and not answered, oldest first. */
  asks: Instant[] = []
  /** Settles when the one that is awaited is answered. */
  renewal: Promise<Instant> | null = null
  rollCall: RollCall | null = null
  /** Keys on the lease that were nobody's at the last roll call. */
  strays: ReadonlySet<string> = new Set()

  constructor(id: bigint, ttlMs: number, since: Instant, own: boolean) {
    this.id = id
    this.ttlMs = ttlMs
    this.since = since
    this.own = own
  }
}
