/**
 * The one door to a place: watch, ask, judge the answer, then keep the place or undo it. If others stand ahead, the
 * acquisition waits for a push, a recheck or a heartbeat. Steps are callbacks rather than awaits, because an abort may
 * come between any two of them and must leave no trace.
 */
import { type Entry, isGranted, type Place, type Push, type Stop } from '../contract/driver.ts'
import type { Core } from './core.ts'
import {
  CapacityMismatchError,
  HoldfastError,
  StoreError,
  StoreUnreachableError,
  UnsupportedError,
  UsageError,
} from '../contract/errors.ts'
import { Lease, type LeaseListener } from './lease.ts'
import type { Cancel } from '../contract/runtime.ts'
import type { Spec } from './spec.ts'
import { isTransient } from '../contract/transient.ts'

/** Whoever wants the place. */
export interface Applicant {
  granted(lease: Lease): void
  /** There was no room, and the applicant did not want to wait. */
  refused(): void
  /**
   * The store has answered that so much weight is ahead. Called for each such answer; `first`: for the first of them.
   */
  blocked(ahead: number, first: boolean): void
  failed(error: HoldfastError): void
}

/** Another way to get a place than the queue: together with others in one step, or from another process. */
export interface Offer {
  /** Asks for the place under the id of the entry. A repeated call with the same id gets the same answer. */
  ask(entry: Entry): Promise<Place | null>
  /** How long to ask again while the store does not answer. */
  readonly patienceMs: number
}

const TOKEN_MAX = 2n ** 53n
const PAUSE_MS_MIN = 20
const PAUSE_MS_MAX = 1_000

export class Acquisition implements LeaseListener {
  readonly #spec: Spec
  readonly #wait: boolean
  readonly #applicant: Applicant
  readonly #offer: Offer | null
  #lease: Lease | null = null
  #firstSentAt = 0
  #push: Push | null = null
  #woken = false
  /** The store has said that others are ahead. */
  #isBlocked = false
  #ended = false
  #cancelTimer: Cancel | null = null
  #silentSince: number | null = null
  #pauseMs = PAUSE_MS_MIN
  /** Why the store is silent, while it is. Until its first answer nobody knows whether others hold the line. */
  outage: unknown = 'no answer yet'

  constructor(spec: Spec, wait: boolean, applicant: Applicant, offer: Offer | null = null) {
    this.#spec = spec
    this.#wait = wait
    this.#applicant = applicant
    this.#offer = offer
  }

  get #core(): Core {
    return this.#spec.ask.core
  }

  /** Takes a fresh id, because each id names one place, once. */
  start(): void {
    if (this.#ended) return
    const { driver, runtime, heartbeat } = this.#core
    const lease = new Lease(this.#spec, runtime.randomId(), heartbeat.termOf(this.#spec.ask.settings.ttlMs), this)
    this.#lease = lease
    this.#firstSentAt = 0
    this.#push = null
    this.#woken = false
    // Watch before entering, so that a push that comes before the answer is not missed.
    const watch = driver.watch(lease.line, lease.id, lease.wake())
    if (typeof watch === 'function') this.#watched(lease, watch)
    else
      watch.then(
        (stop) => this.#watched(lease, stop),
        (error: unknown) => this.#unanswered(lease, error),
      )
  }

  /** Stops, and gives up what may have been taken. The applicant hears nothing any more. */
  cancel(): void {
    if (this.#ended) return
    this.#ended = true
    this.#cancelTimer?.()
    if (this.#lease !== null) this.#abandon(this.#lease)
  }

  /** The place as it stands in the line, once the store has answered. */
  get standing(): Lease | null {
    return this.#lease !== null && this.#lease.list !== null ? this.#lease : null
  }

  #watched(lease: Lease, stop: Stop): void {
    if (this.#ended || lease !== this.#lease) {
      stop()
      return
    }
    lease.stop = stop
    this.#ask(lease)
  }

  #ask(lease: Lease): void {
    if (this.#firstSentAt === 0) this.#firstSentAt = this.#core.runtime.now()
    const { entry } = lease
    const answer = this.#offer === null ? this.#core.driver.enter(entry, this.#wait) : this.#offer.ask(entry)
    answer.then(
      (place) => this.#judge(lease, place),
      (error: unknown) => this.#unanswered(lease, error),
    )
  }

  #judge(lease: Lease, place: Place | null): void {
    if (this.#ended || lease !== this.#lease) {
      // The applicant left while this request was under way. The request has ended now, so undo whatever it did.
      if (place !== null) this.#core.cleanup.drop(lease)
      return
    }
    this.#answered()
    if (place === null) {
      lease.unwatch()
      // An earlier request for this id got no answer, and may arrive when there is room. It would make a place that
      // nobody wants.
      if (lease.doubted) this.#core.cleanup.drop(lease)
      if (this.#wait) this.#later(() => this.start())
      else this.#end().refused()
      return
    }
    lease.take(place)
    if (this.#core.heartbeat.leftMs(lease) <= 0 || this.#core.heartbeat.isDoubtful(lease)) {
      // Schedule: A pauses, or its machine sleeps; its place lapses; B enters; A reads the old answer. That answer is
      // no grant.
      this.#startOver(lease)
    } else if (place.token >= TOKEN_MAX) {
      this.#abandon(lease)
      this.#end().failed(this.#storeError(new Error(`the store's token ${place.token} is past 2^53`)))
    } else if (isGranted(this.#spec.ask, place)) {
      this.#core.heartbeat.add(lease)
      this.#grant(lease)
    } else if (this.#wait) {
      lease.awaited = true
      this.#core.heartbeat.add(lease)
      this.#waitOn(lease, place)
    } else {
      this.#abandon(lease)
      this.#end().refused()
    }
  }

  /** The answer says blocked, but a message that came in meanwhile may say otherwise. */
  #waitOn(lease: Lease, place: Place): void {
    const push = this.#push
    this.#push = null
    if (push !== null && this.#isAnswer(lease, push)) {
      this.#grantByPush(lease)
      return
    }
    if (this.#woken || push !== null) {
      this.#woken = false
      this.#core.heartbeat.look(lease)
    }
    // Heartbeats look as well, so set a timer only for a lapse that can come sooner.
    this.#cancelTimer?.()
    this.#cancelTimer = null
    const { recheckMs } = place
    if (recheckMs !== null && recheckMs < lease.term.renewMs) {
      this.#cancelTimer = this.#core.runtime.after(recheckMs + 1, () => this.#core.heartbeat.look(lease), true)
    }
    const isFirst = !this.#isBlocked
    this.#isBlocked = true
    this.#applicant.blocked(place.ahead, isFirst)
  }

  woke(push: Push | undefined): void {
    const lease = this.#lease
    if (this.#ended || lease === null) return
    if (lease.list === null) {
      // The answer to enter is still on its way: remember what has overtaken it.
      if (push === undefined) this.#woken = true
      else this.#push = push
    } else if (push !== undefined && this.#isAnswer(lease, push)) {
      this.#grantByPush(lease)
    } else {
      this.#core.heartbeat.look(lease)
    }
  }

  /**
   * A push is a grant only if the store vouches for it, if it is for the place that my latest answer named, and if it
   * comes in time.
   */
  #isAnswer(lease: Lease, push: Push): boolean {
    const { heartbeat, driver } = this.#core
    if (driver.traits.push !== 'answer' || push.id !== lease.id || push.token !== lease.token) return false
    // A fixed lease must begin with its grant, so ask the store once more. Ask also after the machine may have slept.
    return this.#spec.ask.settings.renew && heartbeat.leftMs(lease) > 0 && !heartbeat.isDoubtful(lease)
  }

  placed(place: Place): void {
    this.#answered()
    const lease = this.#lease
    if (this.#ended || lease === null) return
    if (isGranted(this.#spec.ask, place)) this.#grant(lease)
    else this.#waitOn(lease, place)
  }

  risked(error: unknown): void {
    this.#failing(error)
  }

  /** If a waiter's place lapses, the waiter enters again with a fresh id; that is no error. */
  ended(): void {
    const lease = this.#lease
    if (!this.#ended && lease !== null) this.#startOver(lease)
  }

  /** A push says that the place is granted, and nothing about the places behind it. */
  #grantByPush(lease: Lease): void {
    lease.wanted = true
    this.#grant(lease)
  }

  #grant(lease: Lease): void {
    const { heartbeat, runtime } = this.#core
    heartbeat.hold(lease, this.#spec.ask.settings.renew)
    lease.grantedAtMs = runtime.now()
    // Such a place may have stood for long, and the message that overtook the answer may be a break.
    if (this.#woken && this.#offer !== null) heartbeat.look(lease)
    this.#end().granted(lease)
  }

  #startOver(lease: Lease): void {
    this.#cancelTimer?.()
    this.#abandon(lease)
    if (this.#wait) this.start()
    else this.#end().failed(this.#storeError(new Error('the store took longer to answer than the lease lasts'), true))
  }

  #abandon(lease: Lease): void {
    this.#core.heartbeat.remove(lease)
    lease.unwatch()
    // If nothing was sent, there is nothing to undo. If a request is still under way, its answer is undone when it
    // comes.
    if (this.#firstSentAt !== 0) this.#core.cleanup.drop(lease)
  }

  #unanswered(lease: Lease, error: unknown): void {
    if (this.#ended || lease !== this.#lease) {
      lease.doubted = true
      if (this.#firstSentAt !== 0) this.#core.cleanup.drop(lease)
      return
    }
    if (!isTransient(error)) {
      if (leavesNoTrace(error)) lease.unwatch()
      else this.#abandon(lease)
      this.#end().failed(this.#storeError(error))
      return
    }
    lease.doubted = true
    if (!this.#failing(error)) return
    // If the outcome is unknown, ask again with the same id, as long as that id can still name a live place.
    const { runtime } = this.#core
    const isFresh = this.#firstSentAt === 0 || runtime.now() < this.#firstSentAt + lease.term.usableMs
    if (isFresh && lease.stop !== null) {
      this.#later(() => this.#ask(lease))
    } else {
      this.#abandon(lease)
      this.#later(() => this.start())
    }
  }

  #answered(): void {
    this.#silentSince = null
    this.outage = null
    this.#pauseMs = PAUSE_MS_MIN
  }

  /** The store is silent. False: it has been silent for too long, and the acquisition has failed. */
  #failing(error: unknown): boolean {
    const now = this.#core.runtime.now()
    this.outage = error
    this.#silentSince ??= now
    if (now - this.#silentSince < this.#patienceMs) return true
    const lease = this.#lease
    if (lease !== null) this.#abandon(lease)
    this.#end().failed(this.#storeError(error))
    return false
  }

  get #patienceMs(): number {
    if (this.#offer !== null) return this.#offer.patienceMs
    const { ttlMs } = this.#spec.ask.settings
    return this.#wait ? ttlMs : Math.min(this.#core.connectTimeoutMs, ttlMs)
  }

  #later(step: () => void): void {
    this.#cancelTimer?.()
    const pauseMs = this.#pauseMs * (0.5 + this.#core.runtime.random())
    this.#pauseMs = Math.min(this.#pauseMs * 2, PAUSE_MS_MAX)
    this.#cancelTimer = this.#core.runtime.after(pauseMs, step, true)
  }

  #end(): Applicant {
    this.#ended = true
    this.#cancelTimer?.()
    return this.#applicant
  }

  #storeError(error: unknown, silent = false): HoldfastError {
    if (error instanceof HoldfastError) return error
    const Class = silent ? StoreUnreachableError : StoreError
    const message = error instanceof Error ? error.message : String(error)
    return new Class(`${this.#core.driver.name}: ${message}`, { line: this.#spec.name, cause: error })
  }
}

/**
 * Gives a granted place back. Settles when the store has been asked once; if that failed, cleanup goes on. Never
 * rejects.
 */
export function giveBack({ heartbeat, driver, cleanup }: Core, lease: Lease, afterMs = 0): Promise<true> {
  heartbeat.remove(lease)
  lease.unwatch()
  if (lease.doubted) return cleanup.giveUp(lease, afterMs)
  const { entry } = lease
  return driver.leave(entry, afterMs).then(yes, (error: unknown) => cleanup.insist(entry, afterMs, error))
}

const yes = (): true => true

/** Refusals that change nothing in the store, as the contract says. */
function leavesNoTrace(error: unknown): boolean {
  return error instanceof CapacityMismatchError || error instanceof UnsupportedError || error instanceof UsageError
}
