/**
 * This process's side of a place: what the store last said of the place, and until when this process may believe it.
 */
import type { Entry, Place, Push, Stop, Wake } from '../contract/driver.ts'
import { renewMs, usableMs } from '../contract/validity.ts'
import type { LossCause } from '../contract/events.ts'
import type { Spec } from './spec.ts'

/** Whoever the place serves at the moment: an acquisition while the place waits, a hold once the place is granted. */
export interface LeaseListener {
  /** The store answered: the place lives, and stands here. */
  placed(place: Place): void
  /** The store could not be asked. The place may still live. */
  risked(error: unknown): void
  /** The place is gone, or must be taken to be: its deadline has passed. */
  ended(reason: string, cause: LossCause): void
  /** The store says that something has changed. */
  woke(push: Push | undefined): void
}

interface Gone {
  readonly reason: string
  readonly cause: LossCause
}

const givenUp = new WeakMap<Lease, Gone>()

// Six marks in one word: a process may hold a million locks.
const RENEWED = 1
const AWAITED = 2
const WANTED = 4
const DOUBTED = 8
const BUSY = 16
const AGAIN = 32

export class Lease {
  readonly #spec: Spec
  /** Another one, once a fixed lease was made longer by hand. */
  id: string
  /** How long the holder believes in an answer. The store may keep the place for longer (`lockDelayMs`). */
  term: LeaseTerm
  listener: LeaseListener
  token = 0n
  sinceMonoMs = 0
  sinceWallMs = 0
  /** When this process first held the place. */
  grantedAtMs = 0
  /** Ends the driver's watch on this place. */
  stop: Stop | null = null

  // The heartbeat's own marks. A lease is in one list or in none; being in none means that nobody renews it.
  list: LeaseList | null = null
  prev: Lease | null = null
  next: Lease | null = null
  #marks = RENEWED | WANTED

  constructor(spec: Spec, id: string, term: LeaseTerm, listener: LeaseListener) {
    this.#spec = spec
    this.id = id
    this.term = term
    this.listener = listener
  }

  /** Whether heartbeats keep the place; a fixed lease has none. */
  get renewed(): boolean {
    return this.#is(RENEWED)
  }
  set renewed(on: boolean) {
    this.#mark(RENEWED, on)
  }

  /** Whether a caller waits for the place, so that the process must not end. */
  get awaited(): boolean {
    return this.#is(AWAITED)
  }
  set awaited(on: boolean) {
    this.#mark(AWAITED, on)
  }

  /** Whether somebody else may wait for the lock. Nobody does only if the store says so. */
  get wanted(): boolean {
    return this.#is(WANTED)
  }
  set wanted(on: boolean) {
    this.#mark(WANTED, on)
  }

  /** A request to enter got no answer: the request may still be on its way, and arrive after the place was left. */
  get doubted(): boolean {
    return this.#is(DOUBTED)
  }
  set doubted(on: boolean) {
    this.#mark(DOUBTED, on)
  }

  /** A touch is under way. */
  get busy(): boolean {
    return this.#is(BUSY)
  }
  set busy(on: boolean) {
    this.#mark(BUSY, on)
  }

  /** Something changed while a touch was under way: the answer may be older than the change. */
  get again(): boolean {
    return this.#is(AGAIN)
  }
  set again(on: boolean) {
    this.#mark(AGAIN, on)
  }

  #is(mark: number): boolean {
    return (this.#marks & mark) !== 0
  }

  #mark(mark: number, on: boolean): void {
    this.#marks = on ? this.#marks | mark : this.#marks & ~mark
  }

  /** Why it was given up before its deadline, if it was: by the thread that renews, or because its work is dead. */
  get gone(): Gone | null {
    return givenUp.get(this) ?? null
  }
  set gone(why: Gone) {
    givenUp.set(this, why)
  }

  get line(): string {
    return this.#spec.name
  }

  /**
   * The place as drivers are told of it. Made when it is asked for: kept, it would be a tenth of a hold's heap.
   * The store keeps the place for longer than its holder believes in it, if others are to be kept away after a loss.
   */
  get entry(): Entry {
    const { name: line, ask } = this.#spec
    const { weight, capacity, settings, data } = ask
    const { lockDelayMs, minHoldMs } = settings
    const ttlMs = this.term.ttlMs + lockDelayMs
    return { line, id: this.id, weight, capacity, ttlMs, data, outlives: lockDelayMs > 0 || minHoldMs > 0 }
  }

  get ttlMs(): number {
    return this.term.ttlMs
  }

  /**
   * For the driver's watch. Bound, since a closure weighs twice as much and keeps all of its scope: an acquisition
   * would live as long as its hold.
   */
  wake(): Wake {
    return this.woke.bind(this)
  }

  woke(push: Push | undefined): void {
    this.listener.woke(push)
  }

  take(place: Place): void {
    this.token = place.token
    this.wanted = place.wanted
    // Another thread may have renewed the place since this answer was made.
    if (place.since.monoMs < this.sinceMonoMs) return
    this.sinceMonoMs = place.since.monoMs
    this.sinceWallMs = place.since.wallMs
  }

  unwatch(): void {
    const { stop } = this
    this.stop = null
    stop?.()
  }
}

/**
 * Leases in the order of their last renewal. All of a list have one ttl, so the head is both the first to renew and the
 * first to lapse: one timer serves a hundred thousand holds, and nobody searches.
 */
export class LeaseList {
  head: Lease | null = null
  tail: Lease | null = null

  insert(lease: Lease): void {
    // Answers may overtake one another, so the search for the position starts at the end: nearly always the end itself.
    let after = this.tail
    while (after !== null && after.sinceMonoMs > lease.sinceMonoMs) after = after.prev
    const before = after === null ? this.head : after.next
    lease.list = this
    lease.prev = after
    lease.next = before
    if (after === null) this.head = lease
    else after.next = lease
    if (before === null) this.tail = lease
    else before.prev = lease
  }

  remove(lease: Lease): void {
    if (lease.prev === null) this.head = lease.next
    else lease.prev.next = lease.next
    if (lease.next === null) this.tail = lease.prev
    else lease.next.prev = lease.prev
    lease.list = null
    lease.prev = null
    lease.next = null
  }
}

/**
 * The leases of one ttl: those that rest until their next heartbeat, and those for which only the deadline counts now.
 */
export class LeaseTerm {
  readonly ttlMs: number
  readonly renewMs: number
  readonly usableMs: number
  readonly resting: LeaseList = new LeaseList()
  readonly exposed: LeaseList = new LeaseList()
  /** Whether the heartbeat knows the term: it forgets one that has nobody in its lists. */
  isListed = false

  constructor(ttlMs: number) {
    this.ttlMs = ttlMs
    this.renewMs = renewMs(ttlMs)
    this.usableMs = usableMs(ttlMs)
  }
}
