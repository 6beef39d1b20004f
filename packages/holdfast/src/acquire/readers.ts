/**
 * The readers of one process that share places in a line: a crowd of readers costs the store one place, not thousands.
 *
 * No reader overtakes by sharing. Readers that come in one turn of the event loop enter together. A later reader may
 * join a standing place only if the store says, after that reader came, that nobody waits behind the place. Otherwise
 * the reader enters at the end of the line, like everybody else.
 */
import { isGranted, type Place } from '../contract/driver.ts'
import { Acquisition, type Applicant, giveBack } from './acquisition.ts'
import type { Core } from './core.ts'
import { channels, diagnostics } from '../contract/events.ts'
import type { HoldfastError } from '../contract/errors.ts'
import { Handle } from '../hold/handle.ts'
import { Hold, type Issuer } from '../hold/hold.ts'
import type { Lease } from './lease.ts'
import { type Callers, gaveUp } from './local-queue.ts'
import type { Spec } from './spec.ts'
import { type Waiter, WaiterList } from './waiter.ts'

export class ReaderQueue implements Callers {
  isListed = false
  readonly #core: Core
  readonly #spec: Spec
  /** Readers that came since the store was last asked. */
  #newcomers = new WaiterList()
  /** Readers that the store is being asked for. */
  #comers = new WaiterList()
  readonly #groups = new Set<ReaderGroup>()
  #newest: ReaderGroup | null = null
  /** A question is under way; newcomers wait for the next question, and go together. */
  #asking = false

  constructor(core: Core, spec: Spec) {
    this.#core = core
    this.#spec = spec
  }

  get isIdle(): boolean {
    return this.#groups.size === 0 && !this.#asking
  }

  add(waiter: Waiter): void {
    const { waitMs, signal } = waiter.wish
    this.#newcomers.push(waiter)
    if (signal !== null || waitMs !== Number.POSITIVE_INFINITY) {
      const outage = (): unknown => this.#newest?.outage ?? 'no answer yet'
      waiter.arm((why) => (why === 'signal' ? signal?.reason : gaveUp(waiter, waitMs, outage())))
    }
    if (this.#asking) return
    this.#asking = true
    queueMicrotask(() => this.#ask())
  }

  async close(error: HoldfastError): Promise<void> {
    this.#newcomers.rejectAll(error)
    this.#comers.rejectAll(error)
    const leaving = [...this.#groups].map((group) => group.close(error))
    for (const left of leaving) await left
  }

  /** The first answer for a group has come, or never will. Now ask for the readers that came meanwhile. */
  answered(group: ReaderGroup): void {
    if (group === this.#newest && this.#asking) this.#ask()
  }

  ended(group: ReaderGroup): void {
    this.#groups.delete(group)
    if (this.#newest === group) this.#newest = null
    if (this.isIdle && !this.isListed) this.#core.forget(this)
  }

  #ask(): void {
    const newest = this.#newest
    if (newest?.isAsking === true) return
    this.#comers = this.#newcomers
    this.#newcomers = new WaiterList()
    const lease = newest?.joinable ?? null
    if (newest === null || lease === null || this.#comers.count === 0) {
      this.#serve(null)
      return
    }
    void this.#look(newest, lease)
  }

  async #look(group: ReaderGroup, lease: Lease): Promise<void> {
    let place: Place | null = null
    try {
      ;[place = null] = await this.#core.driver.touch([lease.entry])
      // Either the place is gone, or it is granted, and the store tells that only once: the readers that wait on the
      // place must hear of it.
      if (place === null || (group.isWaiting && isGranted(lease.entry, place))) this.#core.heartbeat.look(lease)
    } catch (error) {
      diagnostics.failed(this.#spec.name, error)
    }
    const isOpen = place !== null && !place.wanted && group.joinable === lease
    this.#serve(isOpen ? group : null)
  }

  /** Serves the readers that the store was asked for, then asks for those that came meanwhile. */
  #serve(open: ReaderGroup | null): void {
    if (open === null) this.#enter(this.#comers)
    else open.join(this.#comers)
    if (this.#newcomers.count > 0) {
      this.#ask()
    } else if (this.#newest?.isAsking !== true) {
      this.#asking = false
      if (this.isIdle && !this.isListed) this.#core.forget(this)
    }
  }

  /**
   * Enters a new place. Readers that do not want to wait leave no trace if there is no room, so they go first and
   * without the others.
   */
  #enter(comers: WaiterList): void {
    const tries = new WaiterList()
    const patient = new WaiterList()
    for (let waiter = comers.shift(); waiter !== null; waiter = comers.shift()) {
      ;(waiter.wish.waitMs === 0 ? tries : patient).push(waiter)
    }
    for (const [waiters, wait] of [
      [tries, false],
      [patient, true],
    ] as const) {
      if (waiters.count === 0) continue
      const group = new ReaderGroup(this.#core, this.#spec, this, waiters)
      this.#groups.add(group)
      this.#newest = group
      group.start(wait)
    }
  }
}

/** Readers on one place. */
class ReaderGroup implements Applicant, Issuer {
  readonly #core: Core
  readonly #spec: Spec
  readonly #queue: ReaderQueue
  readonly #waiters: WaiterList
  #acquisition: Acquisition | null = null
  #hold: Hold | null = null
  #ended = false
  /** The enter is under way, and has no answer yet. */
  isAsking = true

  constructor(core: Core, spec: Spec, queue: ReaderQueue, waiters: WaiterList) {
    this.#core = core
    this.#spec = spec
    this.#queue = queue
    this.#waiters = waiters
    for (let waiter = waiters.first; waiter !== null; waiter = waiter.next) this.#arm(waiter)
  }

  get outage(): unknown {
    return this.#acquisition?.outage ?? null
  }

  /** The place stands in line, and its readers do not know of a grant yet. */
  get isWaiting(): boolean {
    return this.#acquisition !== null
  }

  /** The place, if another reader may stand on it: its lease must be good for some time. */
  get joinable(): Lease | null {
    const lease = this.#hold?.lease ?? this.#acquisition?.standing ?? null
    if (lease === null || (this.#hold !== null && this.#hold.state !== 'held')) return null
    const { heartbeat } = this.#core
    return heartbeat.leftMs(lease) >= lease.ttlMs / 3 && !heartbeat.isDoubtful(lease) ? lease : null
  }

  start(wait: boolean): void {
    this.#acquisition = new Acquisition(this.#spec, wait, this)
    this.#acquisition.start()
  }

  join(comers: WaiterList): void {
    for (let waiter = comers.shift(); waiter !== null; waiter = comers.shift()) {
      if (this.#hold !== null) {
        this.#issue(this.#hold, waiter)
      } else if (waiter.wish.waitMs === 0) {
        waiter.resolve(null)
      } else {
        this.#waiters.push(waiter)
        this.#arm(waiter)
        // This reader waits for what the group waits for: the store has said so, but not how much is ahead now.
        if (channels.waiting.hasSubscribers) waiter.tellWaiting('process', this.#waiters.count - 1)
      }
    }
  }

  granted(lease: Lease): void {
    this.#acquisition = null
    if (this.#waiters.count === 0) {
      void giveBack(this.#core, lease)
      this.#end()
      return
    }
    const hold = new Hold(this, this.#spec, lease, 0, null)
    this.#hold = hold
    for (let waiter = this.#waiters.shift(); waiter !== null; waiter = this.#waiters.shift()) {
      this.#issue(hold, waiter)
    }
    this.#answered()
  }

  #issue(hold: Hold, waiter: Waiter): void {
    if (channels.acquired.hasSubscribers) hold.begin(waiter.request, waiter.sinceMs(hold.lease.sinceMonoMs), 0)
    const handle = new Handle(hold, waiter.spec, null)
    // Readers of one place come one by one, so each has held it for a time of its own.
    if (channels.released.hasSubscribers || channels.lost.hasSubscribers) handle.sinceMs = this.#core.runtime.now()
    waiter.resolve(handle)
  }

  blocked(ahead: number, first: boolean): void {
    if (first && channels.waiting.hasSubscribers) {
      for (let waiter = this.#waiters.first; waiter !== null; waiter = waiter.next) waiter.tellWaiting('store', ahead)
    }
    this.#answered()
  }

  refused(): void {
    this.#acquisition = null
    this.#waiters.refuseAll()
    this.#end()
  }

  failed(error: HoldfastError): void {
    this.#acquisition = null
    this.#waiters.rejectAll(error)
    this.#end()
  }

  takeBack(hold: Hold): Promise<boolean> {
    this.#hold = null
    this.#end()
    return giveBack(this.#core, hold.lease)
  }

  forget(_hold: Hold): void {
    this.#hold = null
    this.#end()
  }

  async close(error: HoldfastError): Promise<void> {
    this.#acquisition?.cancel()
    const hold = this.#hold
    this.#hold = null
    this.failed(error)
    if (hold === null) return
    hold.close()
    await giveBack(this.#core, hold.lease)
  }

  #arm(waiter: Waiter): void {
    const { waitMs, signal } = waiter.wish
    if (signal === null && waitMs === Number.POSITIVE_INFINITY) return
    waiter.arm((why) => {
      const { outage } = this
      if (this.#waiters.count === 0 && this.#acquisition !== null) {
        this.#acquisition.cancel()
        this.#acquisition = null
        this.#end()
      }
      return why === 'signal' ? signal?.reason : gaveUp(waiter, waitMs, outage)
    })
  }

  #answered(): void {
    if (!this.isAsking) return
    this.isAsking = false
    this.#queue.answered(this)
  }

  #end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#answered()
    this.#queue.ended(this)
  }
}
