/**
 * This process's side of a place: what the store last said of the place, and until when this process may trust that.
 */
import type { Entry, Place, Push, Stop, Wake } from '../contract/driver.ts'
import { renewMs, usableMs } from '../contract/validity.ts'
import type { LossCause } from '../contract/events.ts'
import type { Spec } from './spec.ts'

/** Whom the place serves at the moment: an acquisition while the place waits, a hold once the place is granted. */
export interface LeaseListener {
  /** The store answered: the place lives, and stands here. */
  placed(place: Place): void
  /** The store gave no answer. The place may still live. */
  risked(error: unknown): void
  /** The place is gone, or must be treated as gone, because its deadline has passed. */
  ended(reason: string, cause: LossCause): void
  /** The store says that something has changed. */
  woke(push: Push | undefined): void
}

interface Gone {
  readonly reason: string
  readonly cause: LossCause
}

const givenUp = new WeakMap<Lease, Gone>()

// Six flags in one word, because a process may hold a million locks.
const RENEWED = 1
const AWAITED = 2
const WANTED = 4
const DOUBTED = 8
const BUSY = 16
const AGAIN = 32

export class Lease {
  readonly #spec: Spec
  /** Gets another id when a fixed lease is made longer by hand. */
  id: string
  /** How long the holder may trust an answer. The store may keep the place for longer (`lockDelayMs`). */
  term: LeaseTerm
  listener: LeaseListener
  token = 0n
  sinceMonoMs = 0
  sinceWallMs = 0
  /** When this process first held the place. */
  grantedAtMs = 0
  /** Ends the driver's watch on this place. */
  stop: Stop | null = null

  // Fields of the heartbeat. A lease is in one list or in none; if in none, nobody renews it.
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

  /** Whether heartbeats renew the place; a fixed lease is not renewed. */
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

  /** Whether somebody else may wait for the lock. False only if the store has said that nobody does. */
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

  /** Set if the place was given up before its deadline: by the thread that renews, or because its work is dead. */
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
   * The place in the form that drivers get. Made at each read: kept, it would be a tenth of a hold's heap. If others
   * must be kept away after a loss, the store keeps the place for longer than its holder may trust it.
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
   * For the driver's watch. A bound function, because a closure weighs twice as much and keeps all of its scope: an
   * acquisition would live as long as its hold.
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
 * Leases in the order of their last renewal. All leases of a list have one ttl, so the head is the first to renew and
 * the first to lapse: one timer serves a hundred thousand holds, and nobody searches.
 */
export class LeaseList {
  head: Lease | null = null
  tail: Lease | null = null

  insert(lease: Lease): void {
    // Answers may overtake one another, so find the position from the end. It is nearly always the end itself.
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
  /** Whether the heartbeat knows the term. The heartbeat forgets a term with empty lists. */
  isListed = false

  constructor(ttlMs: number) {
    this.ttlMs = ttlMs
    this.renewMs = renewMs(ttlMs)
    this.usableMs = usableMs(ttlMs)
  }
}
