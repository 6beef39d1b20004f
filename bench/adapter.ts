/** What an adapter is: one way to lock, made comparable. Types only; the real ones are in adapters/. */

/** One key, as one client sees it. */
export interface Lock {
  /** Waits as long as it takes; answers with what release needs. */
  acquire(): Promise<unknown>
  /** Answers with nothing where it is done at once: then nothing is awaited, as its users would not. */
  release(token: unknown): Promise<unknown> | undefined
}

/** A rate limit that is never reached: what is measured is the asking. */
export interface Limit {
  /** Whether one was taken. */
  take(key: string): Promise<boolean>
}

/** A maker of ids. */
export interface IdMaker {
  /** Null: it must wait. */
  next(): unknown
  /** Waits, and gives the next id. */
  wait(): Promise<unknown>
}

/** What went to the store so far. */
export interface Calls {
  /** Calls that cost the store something: enter, touch and leave, or commands. */
  readonly total: number
  /** Renewals, each for any number of places. */
  readonly touches: number
  /** Places renewed by them. */
  readonly places: number
  /** How long a call kept the event loop, 99.9th percentile; NaN where it is not timed. */
  readonly blockedMsP999: number
}

/** An open store, in one process. */
export interface Client {
  lock(key: string): Lock
  /** As most programs write it: a new lock with options of its own for one call. Left out: the same as `lock`. */
  fresh?(key: string): Lock
  /** One that stays with the process after its release; left out where there is none. */
  kept?(key: string): Lock
  /** Stands before every key of this measurement; `exact` takes names that have it already. */
  prefix?: string
  exact?(name: string): Lock
  /** Shared with others of its kind; left out where there is none. */
  readLock?(key: string): Lock
  limit?(): Limit | Promise<Limit>
  ids?(): IdMaker | Promise<IdMaker>
  /** Left out where nothing can be counted. */
  calls?(): Calls | Promise<Calls>
  /** What the store has in memory; left out where it can't be asked. */
  storeBytes?(): Promise<number>
  /** Whether a token's owner still believes in it. */
  isHeld?(token: unknown): boolean
  close(): unknown
}

export interface Config {
  /** Of the store. */
  readonly url: string
  /** For files; every measurement has a new one. */
  readonly folder: string
  readonly ttlMs: number
  /** Calls and timers are asked for: they are counted only then, since that costs a little. */
  readonly counting: boolean
}

export interface Adapter {
  readonly name: string
  /** The scheme of the store, '*' for any. */
  readonly store: string
  readonly role: 'ours' | 'raw' | 'peer'
  /** Packages of bench/package.json that it needs. */
  readonly packages?: readonly string[]
  /** Scenarios that it is made for; left out: all but `limiter` and `ids`. */
  readonly only?: readonly string[]
  /** Takes part in `limiter` and `ids`, too. */
  readonly kit?: boolean
  /** Its holds are renewed while they last; false: no part in `holds`. */
  readonly renews?: boolean
  /** It has read locks; left out: no part in `readers`. */
  readonly reads?: boolean
  /** It has locks that stay with the process; left out: no part in `kept`. */
  readonly keeps?: boolean
  /** A holder that is gone is replaced; false: no part in `recovery`. */
  readonly recovers?: boolean
  /** A killed holder is noticed before its ttl has run out. */
  readonly noticesDeath?: boolean
  /** Larger herds take it minutes; left out: any size. */
  readonly herdMax?: number
  open(config: Config): Client | Promise<Client>
}
