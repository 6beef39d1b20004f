/** An adapter makes one way to lock comparable with the others. Types only; the real ones are in adapters/. */

/** One key, as one client sees it. */
export interface Lock {
  /** Waits for the lock, however long; returns what `release` needs. */
  acquire(): Promise<unknown>
  /** Returns nothing if the release is done at once: then the bench awaits nothing, as users would not. */
  release(token: unknown): Promise<unknown> | undefined
}

/** A rate limit that is never reached: the bench measures the asking. */
export interface Limit {
  /** Whether the limiter granted one call. */
  take(key: string): Promise<boolean>
}

/** A maker of ids. */
export interface IdMaker {
  /** null: the caller must wait. */
  next(): unknown
  /** Waits, and gives the next id. */
  wait(): Promise<unknown>
}

/** What this process has sent to the store so far. */
export interface Calls {
  /** Calls that cost the store something: enter, touch and leave, or commands. */
  readonly total: number
  /** Renewals, each for any number of places. */
  readonly touches: number
  /** Places that those renewals have renewed. */
  readonly places: number
  /** How long a call kept the event loop busy, 99.9th percentile; NaN if the calls are not timed. */
  readonly blockedMsP999: number
}

/** An open store, in one process. */
export interface Client {
  lock(key: string): Lock
  /** A new lock with options of its own for one call, as most programs write it. Default: the same as `lock`. */
  fresh?(key: string): Lock
  /** A lock that stays with the process after its release; absent if the adapter has none. */
  kept?(key: string): Lock
  /** Begins every key of this measurement. `exact` takes names that begin with it already. */
  prefix?: string
  exact?(name: string): Lock
  /** A read lock, shared with other readers; absent if the adapter has none. */
  readLock?(key: string): Lock
  limit?(): Limit | Promise<Limit>
  ids?(): IdMaker | Promise<IdMaker>
  /** Absent if the adapter can't count. */
  calls?(): Calls | Promise<Calls>
  /** How much memory the store uses; absent if the store can't tell. */
  storeBytes?(): Promise<number>
  /** Whether the owner of a token still believes that it holds the lock. */
  isHeld?(token: unknown): boolean
  close(): unknown
}

export interface Config {
  /** Of the store. */
  readonly url: string
  /** The folder for files; every measurement has a new one. */
  readonly folder: string
  readonly ttlMs: number
  /** True: count calls and timers. Counting costs a little, so it is done only on demand. */
  readonly counting: boolean
}

export interface Adapter {
  readonly name: string
  /** The scheme of the store, '*' for any. */
  readonly store: string
  readonly role: 'ours' | 'raw' | 'peer'
  /** Packages of bench/package.json that the adapter needs. */
  readonly packages?: readonly string[]
  /** The scenarios of this adapter. Default: all but `limiter` and `ids`. */
  readonly only?: readonly string[]
  /** Takes part in `limiter` and `ids`, too. */
  readonly kit?: boolean
  /** Whether holds are renewed while they last. false: no part in `holds`. */
  readonly renews?: boolean
  /** Whether it has read locks. Default: no part in `readers`. */
  readonly reads?: boolean
  /** Whether it has locks that stay with the process. Default: no part in `kept`. */
  readonly keeps?: boolean
  /** Whether the next waiter gets the lock of a dead holder. false: no part in `recovery`. */
  readonly recovers?: boolean
  /** Whether the store notices a killed holder before its ttl has run out. */
  readonly noticesDeath?: boolean
  /** The largest herd that takes less than minutes. Default: any size. */
  readonly herdMax?: number
  open(config: Config): Client | Promise<Client>
}
