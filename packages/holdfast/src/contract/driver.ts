/**
 * The contract between Holdfast's core and a store: the only seam. A driver keeps lines; every rule about locks is in
 * core.
 *
 * A *line* has a name and a capacity. A contender takes a *place* in the line: numbered, leased, weighted. A place is
 * granted when the weight ahead of it plus its own weight fits into the capacity, see `isGranted`.
 *
 * The laws (docs/explain/laws.md; each is a named case of `holdfast/conformance`):
 * - exclusion: live granted weights never exceed the capacity.
 * - owner: a late or foreign leave never frees a successor.
 * - life: a dead client's place lapses.
 * - order: places become visible in the order of their tokens; nothing is ever inserted ahead of an existing place.
 * - tokens: they rise, also across an empty line and a restart, and stay below 2^53.
 * - clock: the store's clock judges a lapse, in the same atomic step as the answer.
 * - enter is idempotent by id; an id that has lapsed or left never comes back. touch never revives a place. leave is
 *   idempotent.
 * - watch: a wake-up may be late, lost, doubled or false; that costs at most one heartbeat.
 * - grant: once true it stays true while the place lives, so a caller may trust a stale reply until the place's own
 *   deadline.
 * - capacity: a property of the line while anyone is in it. An entry with another value gets a CapacityMismatchError
 *   and leaves no trace.
 * - names: 1 to 512 bytes of well-formed UTF-8 are legal, distinct, and round-trip.
 * - settle: every call settles, within the driver's own time-out. "No answer" is a StoreUnreachableError.
 */
import type { Runtime } from './runtime.ts'

/** A moment of this process on both of its clocks. The monotonic clock stops while the machine is suspended. */
export interface Instant {
  /** Milliseconds on a clock that never steps. */
  readonly monoMs: number
  /** Milliseconds since 1970, on the clock that people set. */
  readonly wallMs: number
}

/** Reads both clocks. */
export function instant(runtime: Pick<Runtime, 'now' | 'wallNow'>): Instant {
  return { monoMs: runtime.now(), wallMs: runtime.wallNow() }
}

/** One contender for one place. The caller picks the id, so that the caller can ask again after a lost reply. */
export interface Entry {
  readonly line: string
  /**
   * 128 random bits in hex. An id names one place, once. Whoever knows the id can act as the owner, so it is never
   * shown.
   */
  readonly id: string
  /** From 1 to `capacity`. */
  readonly weight: number
  readonly capacity: number
  readonly ttlMs: number
  /** JSON for people, at most 1 kB: `{ label, host, pid, … }`. */
  readonly data: string
  /** True: the place lasts until its lease lapses, even if the store sees that its process has died. Default false. */
  readonly outlives?: boolean
  /**
   * Only asked of `rename`. True: nobody has claimed the place yet, so nobody may renew it before its next rename.
   * Default false.
   */
  readonly unclaimed?: boolean
}

/** Where a contender stands, as one answer of the store says. */
export interface Place {
  /** The number of the place: the root of the fencing token. */
  readonly token: bigint
  /** Live weight ahead of the place. The store may stop counting once the answer is "blocked", never earlier. */
  readonly ahead: number
  /**
   * How long until the first of the places ahead can lapse. null: no place is ahead, or the store will send a wake-up.
   */
  readonly recheckMs: number | null
  /** The instant before the request was sent that last renewed this place's lease. */
  readonly since: Instant
  /**
   * True if another contender may be waiting: behind this place, or to become heavier. False only if the store knows
   * that none is.
   */
  readonly wanted: boolean
}

/** What a store may send along with a wake-up: the place, which is granted now. */
export interface Push {
  readonly id: string
  readonly token: bigint
}

/**
 * The driver calls this when a place may have changed. If there is a push and `traits.push` is 'answer', the push is
 * the grant.
 */
export type Wake = (push?: Push) => void

/** Ends a watch. Never throws. A wake-up may still come afterwards. */
export type Stop = () => void

/** What a store can do. A request for anything else is refused with an UnsupportedError. */
export interface Traits {
  /** Whoever comes first is served first. */
  readonly fair: boolean
  /** Tokens rise, so a guard can refuse a stale holder. */
  readonly fenced: boolean
  /** Several weights can share a capacity safely (semaphores). */
  readonly counting: boolean
  /**
   * 'none': the store sends no wake-ups. 'hint': a wake-up means "look again". 'answer': a push is the grant itself.
   */
  readonly push: 'none' | 'hint' | 'answer'
  /** The shortest lease that the store can keep. */
  readonly ttlMsMin: number
  /** The longest lease that the store grants; a longer one is cut to it. Default: no limit of the store's own. */
  readonly ttlMsMax?: number
  /** Whether a place can outlive its leave (`leave` with `afterMs`), even when its process has ended. */
  readonly lingers: boolean
  /** Who can share a line: tasks of one process, processes of one host, or hosts of a network. */
  readonly scope: 'process' | 'host' | 'network'
  /** What the store promises, and what breaks that promise, in one or two sentences. */
  readonly safety: string
}

/** A place as people see it. The id is left out: whoever knows an id can act as its owner. */
export interface PlaceView {
  readonly token: bigint
  readonly weight: number
  /** Time since the place entered the line. */
  readonly ageMs: number
  /** Time until its lease runs out. */
  readonly leftMs: number
  readonly label: string
  readonly host: string
  readonly pid: number
  /** What a candidate of an election says about itself; absent elsewhere. */
  readonly value?: string
  /** What the caller held when the wait began; absent if the caller held nothing. */
  readonly holds?: readonly { readonly line: string; readonly token: bigint }[]
}

/** A line as people see it, with its places in order. */
export interface LineView {
  readonly name: string
  readonly capacity: number
  /** Who holds the lock now. */
  readonly holders: readonly PlaceView[]
  /** Who waits, in order. */
  readonly waiters: readonly PlaceView[]
}

/** A change to a cell. The store applies it only if the cell still has version `version`. */
export interface Change {
  /** 0n: the cell must be absent. */
  readonly version: bigint
  /** null deletes the cell. */
  readonly next: string | null
  /** How long the cell lives by the store's clock; 0 for ever. */
  readonly ttlMs: number
  /** The store keeps the nonce with the cell. A repeated change that finds its own nonce has succeeded. */
  readonly nonce: string
}

/** A cell after a swap. If the nonce is that of the change, the change was applied. Versions obey the token law. */
export interface CellView {
  /** 0n when the cell is absent. */
  readonly version: bigint
  /** null when the cell is absent. */
  readonly value: string | null
  /** The nonce of the change that wrote this version; null if the cell was never written. */
  readonly nonce: string | null
}

/**
 * What a caller wants to take from a rate limit: a bucket that drains. All numbers are whole, so that every store
 * counts exactly. One call costs `unit`, the bucket holds `burst` calls, and `drain` units flow out in each microsecond
 * of the store's clock.
 */
export interface Demand {
  /** How many calls to take; 0 only looks. */
  readonly cost: number
  /** How many calls the bucket holds. */
  readonly burst: number
  /** How many units one call costs. */
  readonly unit: number
  /** How many units flow out in a microsecond. */
  readonly drain: number
  /** When more calls than this have been refused since the bucket was last empty, the key is shut. 0: never. */
  readonly shutAfter: number
  /** How long the key stays shut. */
  readonly shutMs: number
}

/** The answer to a demand. */
export interface Taken {
  /** Whether the store granted the demand. */
  readonly taken: boolean
  /** How many calls could be taken now. */
  readonly left: number
  /** How long until the store could grant the same demand; 0 if it did. */
  readonly retryMs: number
  /** How long until the bucket is empty again, so that all of `burst` could be taken. */
  readonly resetMs: number
  /** True: the key is shut, whatever the bucket holds. */
  readonly shut: boolean
}

/** A store. Methods reject with the errors of contract/errors.ts; no method throws synchronously. */
export interface Driver {
  /** The kind of store, such as `redis`. */
  readonly name: string
  /** What the store can do. */
  readonly traits: Traits
  /**
   * Joins the line. If this id already stands there, enter answers where, and renews the lease like touch. null: the id
   * is dead, or there is no room and `wait` is false. In the second case enter leaves no trace.
   */
  enter(entry: Entry, wait: boolean): Promise<Place | null>
  /** Heartbeat and look in one call for many places. null: the place has lapsed, for good. */
  touch(entries: readonly Entry[]): Promise<(Place | null)[]>
  /**
   * Gives the place up; an unknown id is no error. With `afterMs` the place stays that long without being renewed. A
   * broken place stays until its lease has run out, even after its leave: the holder's work may still be going on.
   */
  leave(entry: Entry, afterMs?: number): Promise<void>
  /**
   * Calls `wake` when this place may have changed, or, with id null, when anything in the line has. The watch is in
   * force once the promise has settled.
   */
  watch(line: string, id: string | null, wake: Wake): Stop | Promise<Stop>
  /** The lines whose names begin with the prefix. */
  list(prefix: string): AsyncIterable<LineView>
  /**
   * One line, without a walk through all names; null: the line is empty. A driver leaves `view` out if `list(name)`
   * costs no more.
   */
  view?(line: string): Promise<LineView | null>
  /** Compare and set on a cell; a null change only reads. */
  swap(key: string, change: Change | null): Promise<CellView>
  /**
   * Forbids the renewal of all places granted now: each counts until its lease has run out. With `now` they go at once.
   * Returns how many.
   */
  break(line: string, now: boolean): Promise<number>
  /**
   * Joins several lines in one step, if all have room now. Returns granted places in the order of the entries. null:
   * not all lines have room, or the store can't join these in one step; no trace is left. Idempotent by ids, like
   * enter.
   */
  enterAll?(entries: readonly Entry[]): Promise<Place[] | null>
  /**
   * Gives a living place another id, once, and renews it. From then on the old id is dead; the token stays. Whoever
   * called rename keeps the place from then on, with the `ttlMs`, `data` and `outlives` of the entry, unless the entry
   * is `unclaimed`. Only a hold is renamed: its place is granted, and stays so. null: the place has lapsed, was broken,
   * or was handed on to another. Called again with the same `id`, rename gives the same answer.
   */
  rename?(entry: Entry, id: string): Promise<Place | null>
  /**
   * Changes the weight of a granted place to that of the entry, in one step, and renews it; its token stays.
   * - Heavier: from then on no other place is granted. Places that are granted already stay granted, wherever they
   *   stand, and count in this place's `ahead` until they have gone; when the last of them goes, this place is woken.
   *   (Grants are a prefix of the line. The step records the last token of that prefix: places up to that token count
   *   the old weight, those behind it the new weight.)
   * - Lighter: whoever fits then is granted, and woken. `turn` rises with every change of mind. A request whose turn is
   *   below that of the place is late, and only answers where the place stands. So does a request that is repeated with
   *   the same turn. null: lapsed, broken, or unknown. At most one place of a line is heavier than when it entered,
   *   because its first weight is more than half of the capacity.
   */
  reweigh?(entry: Entry, turn: number): Promise<Place | null>
  /**
   * Takes from a rate limit in one call. If the answer was lost, the store may have taken; another call takes again. A
   * store in this process may answer at once; then take throws nothing.
   */
  take?(key: string, demand: Demand): Taken | Promise<Taken>
  /** Creates the tables, on stores that have some. */
  setup?(): Promise<void>
  /** Closes the connections that the driver opened; a client that the caller gave stays open. */
  close(): Promise<void>
}

/** The one rule: written here, and nowhere else. */
export function isGranted(entry: Pick<Entry, 'weight' | 'capacity'>, place: Pick<Place, 'ahead'>): boolean {
  return place.ahead + entry.weight <= entry.capacity
}
