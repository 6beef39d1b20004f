/**
 * One caller of acquire or tryAcquire. It settles once: by a grant, a refusal, an error, its time limit, or its signal.
 */
import { onAbort } from '../contract/aborts.ts'
import type { Handle } from '../hold/handle.ts'
import type { Wish } from '../contract/options.ts'
import { AcquireTimeoutError } from '../contract/errors.ts'
import { channels, type GoneEvent, nextRequest } from '../contract/events.ts'
import { holdersOf } from './holders.ts'
import type { Cancel } from '../contract/runtime.ts'
import type { Spec } from './spec.ts'

/** Called when a caller has gone; makes the error that the caller gets. */
export type GiveUp = (why: 'time' | 'signal') => unknown

export class Waiter {
  readonly spec: Spec
  readonly wish: Wish
  /** Whether the caller releases by itself, at the end of the work given to `using`. */
  readonly scoped: boolean
  settled = false
  /** Since when the caller waits, and the number of its request. Both are known only if somebody listens. */
  #askedAtMs: number | null = null
  #request = 0
  // Fields of the list that the waiter stands in.
  list: WaiterList | null = null
  prev: Waiter | null = null
  next: Waiter | null = null
  readonly #resolve: (handle: Handle | null) => void
  readonly #reject: (reason: unknown) => void
  #giveUp: GiveUp | null = null
  #cancelTimer: Cancel | null = null
  /** Stops listening to the waiter's signal. */
  #forget: (() => void) | null = null

  constructor(
    spec: Spec,
    wish: Wish,
    resolve: (handle: Handle | null) => void,
    reject: (reason: unknown) => void,
    scoped = false,
  ) {
    this.spec = spec
    this.wish = wish
    this.scoped = scoped
    this.#resolve = resolve
    this.#reject = reject
  }

  /**
   * The caller enters a queue: from here on listeners hear of it. A caller that enters its own hold again does not come
   * here.
   */
  ask(): void {
    if (this.#request !== 0 || !areRequestsWatched()) return
    this.#askedAtMs = this.spec.ask.core.runtime.now()
    this.#request = nextRequest()
    if (!channels.requested.hasSubscribers) return
    const { spec, wish } = this
    // The source is written out here and elsewhere: spreading it cost more than all the rest of an event.
    const { name: lock, ask } = spec
    const { weight, capacity, core } = ask
    const { store, instance } = core.source
    const { waitMs } = wish
    channels.requested.publish({ store, instance, lock, request: this.#request, waitMs, weight, capacity })
  }

  /** The number of the request, for listeners. A request that began unheard gets its number now. */
  get request(): number {
    if (this.#request === 0) this.#request = nextRequest()
    return this.#request
  }

  /** Since when the caller waits, if that was noted. */
  sinceMs(otherwise: number): number {
    return this.#askedAtMs ?? otherwise
  }

  /** Tells listeners that others are ahead. */
  tellWaiting(where: 'store' | 'process', position: number): void {
    const { name: lock, ask } = this.spec
    const { store, instance } = ask.core.source
    const holders = (): ReturnType<typeof holdersOf> => holdersOf(this.spec.ask.core.driver, lock)
    channels.waiting.publish({ store, instance, lock, request: this.request, position, where, holders })
  }

  /** Arms the time limit and the signal. A waiter that changes queues keeps its first time limit. */
  arm(giveUp: GiveUp, limitMs: number = this.wish.waitMs): void {
    const isArmed = this.#giveUp !== null
    this.#giveUp = giveUp
    if (isArmed) return
    const { signal } = this.wish
    if (signal !== null) {
      this.#forget = onAbort(signal, () => this.#leave('signal'))
    }
    if (limitMs !== Number.POSITIVE_INFINITY && limitMs > 0) {
      this.#cancelTimer = this.spec.ask.core.runtime.after(limitMs, () => this.#leave('time'), true)
    }
  }

  resolve(handle: Handle | null): void {
    this.#settle()
    if (handle === null && this.#request !== 0 && channels.refused.hasSubscribers)
      channels.refused.publish(this.#gone())
    this.#resolve(handle)
  }

  reject(reason: unknown): void {
    this.#settle()
    this.#tellFailed(reason)
    this.#reject(reason)
  }

  #leave(why: 'time' | 'signal'): void {
    if (this.settled) return
    this.#settle()
    const reason = this.#giveUp?.(why)
    if (why === 'time') this.#tellFailed(reason)
    else if (this.#request !== 0 && channels.aborted.hasSubscribers) channels.aborted.publish(this.#gone())
    this.#reject(reason)
  }

  #tellFailed(error: unknown): void {
    if (this.#request === 0) return
    if (error instanceof AcquireTimeoutError) {
      if (channels['timed-out'].hasSubscribers) channels['timed-out'].publish(this.#gone())
    } else if (channels.failed.hasSubscribers) {
      channels.failed.publish({ ...this.#gone(), error })
    }
  }

  #gone(): GoneEvent {
    const now = this.spec.ask.core.runtime.now()
    const { name: lock, ask } = this.spec
    const { store, instance } = ask.core.source
    return { store, instance, lock, request: this.#request, waitedMs: now - this.sinceMs(now) }
  }

  #settle(): void {
    this.settled = true
    this.list?.remove(this)
    this.#cancelTimer?.()
    this.#forget?.()
  }
}

/** Whether anybody listens to any part of a request. Only then are its number and the time of its beginning noted. */
function areRequestsWatched(): boolean {
  return (
    channels.requested.hasSubscribers ||
    channels.acquired.hasSubscribers ||
    channels.waiting.hasSubscribers ||
    channels.refused.hasSubscribers ||
    channels['timed-out'].hasSubscribers ||
    channels.aborted.hasSubscribers ||
    channels.failed.hasSubscribers
  )
}

/**
 * Callers in the order in which they came. A caller that gives up is taken out at once, because its turn may be far
 * away.
 */
export class WaiterList {
  #first: Waiter | null = null
  #last: Waiter | null = null
  #count = 0

  get count(): number {
    return this.#count
  }

  get first(): Waiter | null {
    return this.#first
  }

  push(waiter: Waiter): void {
    waiter.prev = this.#last
    if (this.#last === null) this.#first = waiter
    else this.#last.next = waiter
    this.#last = waiter
    waiter.list = this
    this.#count++
  }

  shift(): Waiter | null {
    const waiter = this.#first
    if (waiter !== null) this.remove(waiter)
    return waiter
  }

  rejectAll(reason: unknown): void {
    for (let waiter = this.shift(); waiter !== null; waiter = this.shift()) waiter.reject(reason)
  }

  /** Others hold the lock, and none of these callers wants to wait. */
  refuseAll(): void {
    for (let waiter = this.shift(); waiter !== null; waiter = this.shift()) waiter.resolve(null)
  }

  remove(waiter: Waiter): void {
    if (waiter.list !== this) return
    if (waiter.prev === null) this.#first = waiter.next
    else waiter.prev.next = waiter.next
    if (waiter.next === null) this.#last = waiter.prev
    else waiter.next.prev = waiter.prev
    // A dead waiter in the old generation must not keep a young one alive: at 256 locks the garbage collector took half
    // of all time.
    waiter.prev = null
    waiter.next = null
    waiter.list = null
    this.#count--
  }
}
