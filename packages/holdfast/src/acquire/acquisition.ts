/**
 * One acquisition: watch and enter, then wait for {push, recheck, heartbeat} until the place is granted.
 * Steps are callbacks rather than awaits, because an abort may come between any two of them and must leave no trace.
 */
import { isGranted, type Place, type Push, type Stop } from '../driver.ts'
import type { Core } from './core.ts'
import {
  CapacityMismatchError,
  HoldfastError,
  OutcomeUnknownError,
  StoreError,
  StoreUnreachableError,
  UnsupportedError,
  UsageError,
} from './errors.ts'
import { Lease, type LeaseListener } from './lease.ts'
import type { Cancel } from './runtime.ts'
import { makeEntry, type Spec } from './spec.ts'
import { renewMs, usableMs } from './validity.ts'

/** Who asked for the place. */
export interface Applicant {
  granted(lease: Lease): void
  /** There was no room, and nobody wanted to wait. */
  refused(): void
  failed(error: HoldfastError): void
}

const TOKEN_MAX = 2n ** 53n
const PAUSE_MS_MIN = 20
const PAUSE_MS_MAX = 1_000

export class Attempt implements LeaseListener {
  readonly #core: Core
  readonly #spec: Spec
  readonly #wait: boolean
  readonly #applicant: Applicant
  #lease: Lease | null = null
  #firstSentAt = 0
  #push: Push | null = null
  #woken = false
  #ended = false
  #cancelTimer: Cancel | null = null
  #silentSince: number | null = null
  #pauseMs = PAUSE_MS_MIN
  /** Why the store is silent, while it is: until its first answer, nobody knows whether others hold the line. */
  outage: unknown = 'no answer yet'

  constructor(core: Core, spec: Spec, wait: boolean, applicant: Applicant) {
    this.#core = core
    this.#spec = spec
    this.#wait = wait
    this.#applicant = applicant
  }

  /** Takes a fresh id: each names one place, once. */
  start(): void {
    const { driver, runtime } = this.#core
    const lease = new Lease(makeEntry(this.#spec, runtime.randomId()), this.#spec.settings.ttlMs, this)
    this.#lease = lease
    this.#firstSentAt = 0
    this.#push = null
    this.#woken = false
    // Watch before entering: a push that comes before the answer must not be missed.
    const watch = driver.watch(lease.entry.line, lease.entry.id, lease.wake())
    if (typeof watch === 'function') this.#watched(lease, watch)
    else
      watch.then(
        (stop) => this.#watched(lease, stop),
        (error: unknown) => this.#unanswered(lease, error),
      )
  }

  /** Stops, and gives up what may have been taken. Nothing is told to the applicant any more. */
  cancel(): void {
    if (this.#ended) return
    this.#ended = true
    this.#cancelTimer?.()
    if (this.#lease !== null) this.#abandon(this.#lease)
  }

  #watched(lease: Lease, stop: Stop): void {
    if (this.#ended || lease !== this.#lease) {
      stop()
      return
    }
    lease.stop = stop
    this.#enter(lease)
  }

  #enter(lease: Lease): void {
    if (this.#firstSentAt === 0) this.#firstSentAt = this.#core.runtime.now()
    this.#core.driver.enter(lease.entry, this.#wait).then(
      (place) => this.#entered(lease, place),
      (error: unknown) => this.#unanswered(lease, error),
    )
  }

  #entered(lease: Lease, place: Place | null): void {
    if (this.#ended || lease !== this.#lease) {
      // Abandoned while this request was under way: whatever it did must be undone now that it has ended.
      if (place !== null) this.#core.reaper.drop(lease.entry)
      return
    }
    this.#answered()
    if (place === null) {
      lease.unwatch()
      if (this.#wait) this.#later(() => this.start())
      else this.#end().refused()
      return
    }
    lease.take(place)
    if (this.#core.keeper.leftMs(lease) <= 0 || this.#core.keeper.isDoubtful(lease)) {
      // A pauses, or its machine sleeps; its place lapses; B enters; A reads the old answer. It is not a grant.
      this.#startOver(lease)
    } else if (place.token >= TOKEN_MAX) {
      this.#abandon(lease)
      this.#end().failed(this.#storeError(new Error(`the store's token ${place.token} is past 2^53`)))
    } else if (isGranted(lease.entry, place)) {
      this.#core.keeper.add(lease)
      this.#grant(lease)
    } else if (this.#wait) {
      lease.awaited = true
      this.#core.keeper.add(lease)
      this.#waitOn(lease, place)
    } else {
      this.#abandon(lease)
      this.#end().refused()
    }
  }

  /** The answer says blocked; something may have come in meanwhile that says otherwise. */
  #waitOn(lease: Lease, place: Place): void {
    const push = this.#push
    this.#push = null
    if (push !== null && this.#isAnswer(lease, push)) {
      this.#grant(lease)
      return
    }
    if (this.#woken || push !== null) {
      this.#woken = false
      this.#core.keeper.look(lease)
    }
    // Heartbeats look as well: only a lapse that can come sooner needs a look of its own.
    this.#cancelTimer?.()
    this.#cancelTimer = null
    const { recheckMs } = place
    if (recheckMs !== null && recheckMs < renewMs(lease.ttlMs)) {
      this.#cancelTimer = this.#core.runtime.after(recheckMs + 1, () => this.#core.keeper.look(lease), true)
    }
  }

  woke(push: Push | undefined): void {
    const lease = this.#lease
    if (this.#ended || lease === null) return
    if (lease.list === null) {
      // The answer to enter is still on its way: remember what overtook it.
      if (push === undefined) this.#woken = true
      else this.#push = push
    } else if (push !== undefined && this.#isAnswer(lease, push)) {
      this.#grant(lease)
    } else {
      this.#core.keeper.look(lease)
    }
  }

  /** A push is the grant only where the store vouches for it, for the place my latest answer named, and in time. */
  #isAnswer(lease: Lease, push: Push): boolean {
    const { keeper, driver } = this.#core
    if (driver.traits.push !== 'answer' || push.id !== lease.entry.id || push.token !== lease.token) return false
    // A fixed lease begins with its grant, so it is asked for once more; a machine that slept asks, too.
    return this.#spec.settings.renew && keeper.leftMs(lease) > 0 && !keeper.isDoubtful(lease)
  }

  placed(place: Place): void {
    this.#answered()
    const lease = this.#lease
    if (this.#ended || lease === null) return
    if (isGranted(lease.entry, place)) this.#grant(lease)
    else this.#waitOn(lease, place)
  }

  risked(error: unknown): void {
    this.#failing(error)
  }

  /** A waiter whose place lapsed enters again with a fresh id; that is no error. */
  ended(): void {
    const lease = this.#lease
    if (!this.#ended && lease !== null) this.#startOver(lease)
  }

  #grant(lease: Lease): void {
    this.#core.keeper.hold(lease, this.#spec.settings.renew)
    this.#end().granted(lease)
  }

  #startOver(lease: Lease): void {
    this.#cancelTimer?.()
    this.#abandon(lease)
    if (this.#wait) this.start()
    else this.#end().failed(this.#storeError(new Error('the store took longer to answer than the lease lasts'), true))
  }

  #abandon(lease: Lease): void {
    this.#core.keeper.remove(lease)
    lease.unwatch()
    // Never sent means nothing to undo. If a request is still under way, this is done again when it ends.
    if (this.#firstSentAt !== 0) this.#core.reaper.drop(lease.entry)
  }

  #unanswered(lease: Lease, error: unknown): void {
    if (this.#ended || lease !== this.#lease) {
      if (this.#firstSentAt !== 0) this.#core.reaper.drop(lease.entry)
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
    // Unknown outcomes are asked for again with the same id, while that id can still name a live place.
    const { runtime } = this.#core
    const isFresh = this.#firstSentAt === 0 || runtime.now() < this.#firstSentAt + usableMs(lease.ttlMs)
    if (isFresh && lease.stop !== null) {
      this.#later(() => this.#enter(lease))
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

  /** The store is silent. False: it has been for too long, and the acquisition has failed. */
  #failing(error: unknown): boolean {
    const now = this.#core.runtime.now()
    this.outage = error
    this.#silentSince ??= now
    const patienceMs = this.#wait
      ? this.#spec.settings.ttlMs
      : Math.min(this.#core.connectTimeoutMs, this.#spec.settings.ttlMs)
    if (now - this.#silentSince < patienceMs) return true
    const lease = this.#lease
    if (lease !== null) this.#abandon(lease)
    this.#end().failed(this.#storeError(error))
    return false
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

/** Whether the same request may get an answer later. */
function isTransient(error: unknown): boolean {
  return error instanceof StoreUnreachableError || error instanceof OutcomeUnknownError
}

/** Refusals that the contract says change nothing in the store. */
function leavesNoTrace(error: unknown): boolean {
  return error instanceof CapacityMismatchError || error instanceof UnsupportedError || error instanceof UsageError
}
