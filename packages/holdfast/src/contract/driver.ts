/**
 * The contract between Holdfast's core and a store: the only seam. A driver keeps lines; every rule about locks is in
 * core.
 *
 * A *line* has a name and a capacity. A contender takes a *place* in it: numbered, leased, weighted.
 * It is granted when the weight ahead of it plus its own weight fits into the capacity, see `isGranted`.
 *
 * The laws (docs/explain/laws.md; each is a named case of `holdfast/conformance`):
 * - exclusion: live granted weights never exceed the capacity.
 * - owner: a late or foreign leave never frees a successor.
 * - life: a dead client's place lapses.
 * - order: places become visible in token order; nothing is ever inserted ahead of an existing place.
 * - tokens: they rise, also across an empty line and a restart, and stay below 2^53.
 * - clock: lapse is judged by the store's clock, in the same atomic step as the answer.
 * - enter is idempotent by id; an id that has lapsed or left never comes back. touch never revives. leave is
 *   idempotent.
 * - watch may be late, lost, doubled or false; that costs at most one heartbeat.
 * - grant: once true it stays true while the place lives, so a stale reply may be trusted until the place's own
 *   deadline.
 * - capacity: a property of the line while anyone is in it; another value is a CapacityMismatchError and leaves no
 *   trace.
 * - names: 1 to 512 bytes of well-formed UTF-8 are legal, distinct, and round-trip.
 * - settle: every call settles, within a time-out of the driver's own; "no answer" is a StoreUnreachableError.
 */
import type { Runtime } from './runtime.ts'

/** A moment of this process, on both of its clocks: the monotonic one stops while the machine is suspended. */
export interface Instant {
  /** On a clock that never steps. */
  readonly monoMs: number
  /** Since 1970, on the clock that people set. */
  readonly wallMs: number
}

/** Now. */
export function instant(runtime: Pick<Runtime, 'now' | 'wallNow'>): Instant {
  return { monoMs: runtime.now(), wallMs: runtime.wallNow() }
}

/** One contender for one place. The caller picks the id, so that a lost reply can be asked for again. */
export interface Entry {
  readonly line: string
  /** 128 random bits in hex: names one place, once. Whoever knows it can forge the owner, so it is never shown. */
  readonly id: string
  /** 1 to `capacity`. */
  readonly weight: number
  readonly capacity: number
  readonly ttlMs: number
  /** JSON for people, at most 1 kB: `{ label, host, pid, … }`. */
  readonly data: string
  /** The place lasts until its lease lapses also where the store could see that its process has died. Default false. */
  readonly outlives?: boolean
}

/** Where a contender stands, as of one answer of the store. */
export interface Place {
  /** The number of the place: the root of the fencing token. */
  readonly token: bigint
  /** Live weight in front of it. The store may stop counting once the answer is "blocked", never earlier. */
  readonly ahead: number
  /** Until the earliest of those in front can lapse; null when nobody is in front or the store will tell. */
  readonly recheckMs: number | null
  /** The instant before the request was sent that last renewed this place's lease. */
  readonly since: Instant
  /**
   * Somebody else in the line may wait: behind it, or to become heavier. False only if the store knows that nobody
   * does.
   */
  readonly wanted: boolean
}

/** What a store may send along with a wake-up: the place that is now granted. */
export interface Push {
  readonly id: string
  readonly token: bigint
}

/**
 * Called by the driver when a place may have changed. With a push, and where `traits.push` is 'answer', it is the
 * grant.
 */
export type Wake = (push?: Push) => void

/** Ends a watch. Never throws; a wake may still come. */
export type Stop = () => void

/** What a store can carry. What it can't is refused openly, with an UnsupportedError. */
export interface Traits {
  /** First come, first served. */
  readonly fair: boolean
  /** Tokens rise, so that a guard can refuse a stale holder. */
  readonly fenced: boolean
  /** Capacities shared by several weights are safe (semaphores). */
  readonly counting: boolean
  /** Whether `watch` is fed by the store, and whether a push may be taken as the grant itself. */
  readonly push: 'none' | 'hint' | 'answer'
  /** The smallest lease the store can keep. */
  readonly ttlMsMin: number
  /** The longest lease the store grants: a longer one is cut to it. Default: no limit of its own. */
  readonly ttlMsMax?: number
  /** Whether a place can outlive its leave (`leave` with `afterMs`), also when its process has gone. */
  readonly lingers: boolean
  /** Who can share a line: tasks of one process, processes of one host, or hosts of a network. */
  readonly scope: 'process' | 'host' | 'network'
  /** What is promised, and what breaks it, in one or two sentences. */
  readonly safety: string
}

/** A place as shown to people. It has no id: who knows an id can forge. */
export interface PlaceView {
  readonly token: bigint
  readonly weight: number
  /** Since it entered. */
  readonly ageMs: number
  /** What is left of its lease. */
  readonly leftMs: number
  readonly label: string
  readonly host: string
  readonly pid: number
  /** What a candidate of an election says of itself; absent elsewhere. */
  readonly value?: string
  /** What its caller held when it began to wait; absent when that was nothing. */
  readonly holds?: readonly { readonly line: string; readonly token: bigint }[]
}

/** A line as shown to people, places in order. */
export interface LineView {
  readonly name: string
  readonly capacity: number
  /** Who holds the lock now. */
  readonly holders: readonly PlaceView[]
  /** Who waits, in order. */
  readonly waiters: readonly PlaceView[]
}

/** A change to a cell: applied only if the cell's version is still `version`. */
export interface Change {
  /** 0n: the cell must be absent. */
  readonly version: bigint
  /** null deletes the cell. */
  readonly next: string | null
  /** How long the cell lives by the store's clock; 0 for ever. */
  readonly ttlMs: number
  /** Stored with the cell: a repeated change that finds its own nonce has succeeded. */
  readonly nonce: string
}

/** A cell after a swap. The change was applied if the nonce is its own; versions obey the token law. */
export interface CellView {
  /** 0n when absent. */
  readonly version: bigint
  /** null when absent. */
  readonly value: string | null
  /** The nonce of the change that wrote this version; null when absent and never written. */
  readonly nonce: string | null
}

/**
 * A wish to take from a rate limit: a bucket that drains. Whole numbers throughout, so that every store counts exactly:
 * one costs `unit`, the bucket holds `burst` of them, and `drain` units flow out in a microsecond of the store's clock.
 */
export interface Demand {
  /** How many to take; 0 only looks. */
  readonly cost: number
  /** How many the bucket holds. */
  readonly burst: number
  /** What one costs. */
  readonly unit: number
  /** Units that flow out in a microsecond. */
  readonly drain: number
  /** Once more than this many have been refused since the bucket was last empty, the key is shut. 0: never. */
  readonly shutAfter: number
  /** For how long. */
  readonly shutMs: number
}

/** What became of a wish to take. */
export interface Taken {
  /** Whether it was granted. */
  readonly taken: boolean
  /** How many could be taken now. */
  readonly left: number
  /** Until the same wish could be granted; 0 when it was. */
  readonly retryMs: number
  /** Until the bucket is empty again, and all of `burst` could be taken. */
  readonly resetMs: number
  /** The key is shut, whatever is in the bucket. */
  readonly shut: boolean
}

/** A store. Methods reject with the errors of contract/errors.ts; nothing is thrown synchronously. */
export interface Driver {
  /** The kind of store: `redis`. */
  readonly name: string
  /** What the store can do. */
  readonly traits: Traits
  /**
   * Joins the line, or answers where this id stands already (and renews it, like touch).
   * null: there is no room and `wait` is false (no trace is left), or the id is dead.
   */
  enter(entry: Entry, wait: boolean): Promise<Place | null>
  /** Heartbeat and look, one call for many. null: lapsed, for good. */
  touch(entries: readonly Entry[]): Promise<(Place | null)[]>
  /**
   * Gives the place up; unknown ids are fine. With `afterMs` the place stays that long, unrenewed.
   * A broken place stays until its lease has run out, also when it is left: what its holder was doing may still go on.
   */
  leave(entry: Entry, afterMs?: number): Promise<void>
  /** Wakes when this place may have changed, or (id null) when anything in the line has. In force once settled. */
  watch(line: string, id: string | null, wake: Wake): Stop | Promise<Stop>
  /** The lines whose names begin with the prefix. */
  list(prefix: string): AsyncIterable<LineView>
  /**
   * One line, without going through all names; null: nobody stands in it. Left out where `list(name)` costs no more.
   */
  view?(line: string): Promise<LineView | null>
  /** Compare-and-set on a cell; a null change only reads. */
  swap(key: string, change: Change | null): Promise<CellView>
  /**
   * Forbids the renewal of the places granted now: each weighs until its lease has run out. With `now` they go at once.
   * Answers how many.
   */
  break(line: string, now: boolean): Promise<number>
  /**
   * Joins several lines in one step, if all of them have room now: granted places in the order of the entries.
   * null: not all have room, or the store can't do these in one step; no trace is left. Idempotent by ids, like enter.
   */
  enterAll?(entries: readonly Entry[]): Promise<Place[] | null>
  /**
   * Gives a living place another id, once, and renews it: the old id is dead from then on, and the token stays.
   * The place is from then on kept by who asks, with the entry's `ttlMs`, `data` and `outlives`.
   * null: it has lapsed, was broken, or was handed on to another. Asked again with the same `id` it answers the same.
   */
  rename?(entry: Entry, id: string): Promise<Place | null>
  /**
   * Changes the weight of a granted place to that of the entry, in one step, and renews it; its token stays.
   * - Heavier: nobody else is granted from then on. Whoever is granted already stays granted, wherever it stands, and
   *   counts in this place's `ahead` until it has gone; when the last of them goes, this place is woken. (Grants are a
   *   prefix of the line. The step records the last token of that prefix: places up to it count the old weight, those
   *   behind it the new.)
   * - Lighter: whoever fits then is granted, and told. `turn` rises with every change of mind: a request whose turn is
   *   below that of the place is late, and only answers where the place stands. null: lapsed, broken, or unknown. Asked
   *   again with the same turn it answers where the place stands now. At most one place of a line is heavier than it
   *   was entered: its first weight is more than half of the capacity.
   */
  reweigh?(entry: Entry, turn: number): Promise<Place | null>
  /**
   * Takes from a rate limit in one call. An answer that was lost may have taken: asked again, it takes again.
   * A store in this process may answer at once; it throws nothing then.
   */
  take?(key: string, demand: Demand): Taken | Promise<Taken>
  /** Makes the schema, on stores that have one. */
  setup?(): Promise<void>
  /** Lets go of connections of its own making; a client it was given stays open. */
  close(): Promise<void>
}

/** The one rule: written here, and nowhere else. */
export function isGranted(entry: Pick<Entry, 'weight' | 'capacity'>, place: Pick<Place, 'ahead'>): boolean {
  return place.ahead + entry.weight <= entry.capacity
}
