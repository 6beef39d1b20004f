/**
 * The callers of one process that share a place in a line. They hand the place on among themselves a bounded number of
 * times; then it goes to the back of the line, so that a busy process can't keep others out. A strict caller, a reader
 * or a permit has a queue of its own, with one caller in it.
 */
import { Acquisition, type Applicant, giveBack } from './acquisition.ts'
import type { Core } from './core.ts'
import { channels } from '../contract/events.ts'
import { AcquireTimeoutError, HoldfastError, StoreUnreachableError } from '../contract/errors.ts'
import { Handle } from '../hold/handle.ts'
import { ISSUE_MAX } from '../hold/token.ts'
import { Hold, type Issuer } from '../hold/hold.ts'
import { KeptPlace } from './kept.ts'
import type { Cancel } from '../contract/runtime.ts'
import type { Lease } from './lease.ts'
import type { Spec } from './spec.ts'
import { WantedWatch } from './wanted.ts'
import { type Waiter, WaiterList } from './waiter.ts'

const OURS = Promise.resolve(true)
/** How long a queue without callers goes on listening for others. */
const REST_MS = 5_000

/** The callers of this process that share one queue for a line. */
export interface Callers {
  /** True: there is neither a caller nor a hold. */
  readonly isIdle: boolean
  /**
   * Whether further callers find this queue by name. A queue of one caller is never listed; an idle queue may be
   * forgotten.
   */
  isListed: boolean
  add(waiter: Waiter): void
  /** Rejects all callers and gives everything back. */
  close(error: HoldfastError): Promise<void>
}

/** State of a queue that keeps its place after a release. */
class Keeping {
  kept: KeptPlace | null = null
  /** Hears of others that want the lock, as long as a place may be kept. */
  wantedWatch: WantedWatch | null = null
  cancelRest: Cancel | null = null
  /** The line has changed since the store was asked: the news may overtake the answer. */
  isChanged = false
}

/** The list contains the waiters. There is a queue for each held lock, so every word of memory counts. */
export class LocalQueue extends WaiterList implements Callers, Applicant, Issuer {
  readonly #spec: Spec
  isListed = false
  /** Callers of tryAcquire that came before the store's first answer: nobody knows yet whether others hold the line. */
  #tries: WaiterList | null = null
  #acquisition: Acquisition | null = null
  #hold: Hold | null = null
  /** null: a place does not stay here after a release. */
  readonly #keeping: Keeping | null

  constructor(spec: Spec) {
    super()
    this.#spec = spec
    this.#keeping = spec.ask.shareKey === null || spec.ask.settings.keepMs === 0 ? null : new Keeping()
  }

  get #core(): Core {
    return this.#spec.ask.core
  }

  get isIdle(): boolean {
    return this.#isFree && (this.#keeping === null || this.#keeping.wantedWatch === null)
  }

  get #isFree(): boolean {
    return this.#acquisition === null && this.#hold === null && this.#kept === null
  }

  get #kept(): KeptPlace | null {
    return this.#keeping === null ? null : this.#keeping.kept
  }

  /** Takes the kept place out: it is kept no more. */
  #unkeep(): KeptPlace | null {
    const kept = this.#kept
    if (this.#keeping !== null) this.#keeping.kept = null
    return kept
  }

  add(waiter: Waiter): void {
    const kept = this.#unkeep()
    if (kept === null) {
      this.#add(waiter, null)
      return
    }
    kept.end()
    if (kept.isUsable) {
      this.#issue(kept.lease, kept.counter + 1, waiter)
      return
    }
    // The leave and the next enter go out together: one round trip instead of two. A single try waits for the leave:
    // a place of this process must not be the reason to refuse it.
    const left = giveBack(this.#core, kept.lease)
    this.#add(waiter, waiter.wish.waitMs === 0 ? left : null)
  }

  /** `after`: what must have settled before the store is asked. */
  #add(waiter: Waiter, after: Promise<unknown> | null): void {
    const { wish } = waiter
    const isBusy = !this.#isFree
    if (isBusy && wish.waitMs === 0) {
      if (this.#acquisition === null || this.#acquisition.outage === null) waiter.resolve(null)
      else this.#try(waiter)
      return
    }
    if (isBusy && channels.waiting.hasSubscribers) {
      waiter.tellWaiting('process', this.count + (this.#hold === null ? 0 : 1))
    }
    this.push(waiter)
    if (wish.signal !== null || wish.waitMs !== Number.POSITIVE_INFINITY) {
      waiter.arm((why) => this.#gaveUp(waiter, why))
    }
    if (!isBusy) this.#start(wish.waitMs !== 0, after)
  }

  /** Begins with a place that was granted elsewhere: taken together with others, or handed on by another process. */
  admit(lease: Lease, counter: number, owner: object | symbol | null): Handle {
    const hold = new Hold(this, this.#spec, lease, counter, owner)
    this.#hold = hold
    hold.beginUnasked()
    if (owner !== null) this.#core.owners.remember(hold)
    return new Handle(hold, this.#spec, null)
  }

  granted(lease: Lease): void {
    this.#acquisition = null
    const waiter = this.shift() ?? this.#tries?.shift() ?? null
    if (waiter === null) {
      void giveBack(this.#core, lease)
      this.#rest()
    } else {
      this.#issue(lease, 0, waiter)
      if (this.#keeping?.isChanged === true) this.#changed()
    }
    this.#refuseTries()
  }

  blocked(ahead: number, first: boolean): void {
    if (first && channels.waiting.hasSubscribers) this.first?.tellWaiting('store', ahead)
    if (this.#tries === null) return
    this.#refuseTries()
    this.#cancelUnwanted()
  }

  refused(): void {
    this.#acquisition = null
    // If the first caller asked for a single try and was not aborted meanwhile, refuse it. The callers behind it are
    // ready to wait.
    if (this.first?.wish.waitMs === 0) this.shift()?.resolve(null)
    this.#refuseTries()
    if (this.count > 0) this.#start(true)
    else this.#rest()
  }

  failed(error: HoldfastError): void {
    this.#acquisition = null
    this.rejectAll(error)
    this.#tries?.rejectAll(error)
    this.#tries = null
    this.#rest()
  }

  takeBack(hold: Hold): Promise<boolean> {
    const { lease } = hold
    this.#hold = null
    // A fixed lease begins with its grant: the next caller did not ask for the rest of the last one's lease.
    if (this.#spec.ask.settings.renew && this.#mayHandOn(hold)) {
      const waiter = this.shift()
      if (waiter !== null) {
        this.#issue(lease, hold.counter + 1, waiter)
        return OURS
      }
    }
    if (this.#keeping !== null && this.#mayKeep(hold)) {
      const { keepMs } = this.#spec.ask.settings
      const letGo = (kept: KeptPlace, live: boolean): void => this.#letGo(kept, live)
      this.#keeping.kept = new KeptPlace(this.#core, lease, hold.counter, keepMs, letGo)
      return OURS
    }
    // Enter first and leave afterwards: then the next place stands in line by the time this one is gone.
    if (this.count > 0) this.#start(true)
    else this.#rest()
    return giveBack(this.#core, lease, hold.lingerMs)
  }

  forget(hold: Hold): void {
    if (this.#hold !== hold) return
    this.#hold = null
    if (this.count > 0) this.#start(true)
    else this.#rest()
  }

  /** Rejects all callers and gives everything back. */
  async close(error: HoldfastError): Promise<void> {
    this.#acquisition?.cancel()
    this.failed(error)
    this.#endWatch()
    const [hold, kept] = [this.#hold, this.#unkeep()]
    this.#hold = null
    kept?.end()
    if (kept !== null) await giveBack(this.#core, kept.lease)
    if (hold === null) return
    hold.close()
    await giveBack(this.#core, hold.lease, hold.lingerMs)
  }

  #start(wait: boolean, after: Promise<unknown> | null = null): void {
    const acquisition = new Acquisition(this.#spec, wait, this)
    this.#acquisition = acquisition
    if (this.#keeping === null) {
      acquisition.start()
    } else {
      this.#keeping.isChanged = false
      void Promise.all([after, this.#watchWanted(this.#keeping)]).then(() => acquisition.start())
    }
  }

  /**
   * The watch must be in force before the store is asked: then the answer shows whoever came earlier, and the watch
   * whoever comes later.
   */
  #watchWanted(keeping: Keeping): Promise<boolean> {
    keeping.wantedWatch ??= new WantedWatch(this.#core, this.#spec.name, () => this.#changed())
    return keeping.wantedWatch.start()
  }

  /** The line has changed. */
  #changed(): void {
    if (this.#keeping === null) return
    if (this.#keeping.kept !== null) this.#keeping.kept.changed()
    else if (this.#hold === null) this.#keeping.isChanged = true
    else if (!this.#hold.lease.wanted) this.#core.heartbeat.look(this.#hold.lease)
  }

  #letGo(kept: KeptPlace, live: boolean): void {
    if (this.#kept !== kept) return
    this.#unkeep()
    kept.end()
    if (live) {
      void giveBack(this.#core, kept.lease)
    } else {
      kept.lease.unwatch()
      this.#core.cleanup.drop(kept.lease)
    }
    this.#rest()
  }

  /** Nobody else wants the place, and a newcomer will be heard. */
  #isUnwanted(lease: Lease): boolean {
    return this.#keeping !== null && !lease.wanted && this.#keeping.wantedWatch?.isInForce === true
  }

  #mayKeep({ lease }: Hold): boolean {
    return this.#isUnwanted(lease) && this.count === 0 && this.#isFresh(lease)
  }

  /** Enough of the lease is left for the next caller to work with. */
  #isFresh(lease: Lease): boolean {
    const { heartbeat } = this.#core
    return heartbeat.leftMs(lease) >= lease.ttlMs / 3 && !heartbeat.isDoubtful(lease)
  }

  #issue(lease: Lease, counter: number, waiter: Waiter): void {
    const { spec, wish } = waiter
    const hold = new Hold(this, spec, lease, counter, wish.owner)
    this.#hold = hold
    if (channels.acquired.hasSubscribers) hold.begin(waiter.request, waiter.sinceMs(lease.sinceMonoMs), counter)
    if (wish.owner !== null) this.#core.owners.remember(hold)
    waiter.resolve(new Handle(hold, spec, null))
  }

  /**
   * The queue hands on only while enough of the lease is left; while others may wait, a bounded number of times and for
   * one ttl at most.
   */
  #mayHandOn(hold: Hold): boolean {
    if (this.count === 0) return false
    const { ttlMs, handovers } = this.#spec.ask.settings
    const isUnwanted = this.#isUnwanted(hold.lease)
    if (hold.counter >= (isUnwanted ? ISSUE_MAX : handovers)) return false
    if (!isUnwanted && this.#core.runtime.now() - hold.lease.grantedAtMs >= ttlMs) return false
    return this.#isFresh(hold.lease)
  }

  /** Waits for the answer that another caller has asked for, no longer than a try of its own would wait. */
  #try(waiter: Waiter): void {
    this.#tries ??= new WaiterList()
    this.#tries.push(waiter)
    const limitMs = Math.min(this.#core.connectTimeoutMs, this.#spec.ask.settings.ttlMs)
    waiter.arm((why) => this.#gaveUp(waiter, why, limitMs), limitMs)
  }

  #refuseTries(): void {
    const tries = this.#tries
    this.#tries = null
    tries?.refuseAll()
  }

  #gaveUp(waiter: Waiter, why: 'time' | 'signal', limitMs: number = waiter.wish.waitMs): unknown {
    const outage = this.#acquisition?.outage ?? null
    this.#cancelUnwanted()
    return why === 'signal' ? waiter.wish.signal?.reason : gaveUp(waiter, limitMs, outage)
  }

  /** No caller waits for the acquisition any more. */
  #cancelUnwanted(): void {
    if (this.#acquisition === null || this.count > 0 || (this.#tries?.count ?? 0) > 0) return
    this.#acquisition.cancel()
    this.#acquisition = null
    if (this.#hold === null) this.#rest()
  }

  #rest(): void {
    if (!this.isListed) this.#core.forget(this)
    // Most locks are used again soon, and beginning a watch anew costs a call.
    else if (this.#keeping !== null && this.#keeping.wantedWatch !== null)
      this.#keeping.cancelRest ??= this.#core.runtime.after(REST_MS, () => this.#rested(this.#keeping), false)
  }

  #rested(keeping: Keeping | null): void {
    if (keeping !== null) keeping.cancelRest = null
    if (this.#isFree) this.#endWatch()
    else this.#rest()
  }

  #endWatch(): void {
    const keeping = this.#keeping
    if (keeping === null) return
    keeping.cancelRest?.()
    keeping.cancelRest = null
    keeping.wantedWatch?.end()
    keeping.wantedWatch = null
  }
}

/** The error for a caller whose time is up. Never confuse "others hold the lock" with "the store did not answer". */
export function gaveUp({ spec: { name } }: Waiter, limitMs: number, outage: unknown): HoldfastError {
  if (outage === null) return timedOut(name, limitMs)
  const message = `lock ${JSON.stringify(name)}: the store did not answer within ${limitMs} ms${said(outage)}`
  return new StoreUnreachableError(message, { line: name, cause: outage })
}

/** Why not, if it is known: a server that takes no more clients says so, and only it can. */
function said(outage: unknown): string {
  return outage instanceof HoldfastError ? ` (${outage.message})` : ''
}

export function timedOut(name: string, waitMs: number): AcquireTimeoutError {
  const message =
    waitMs === 0
      ? `lock ${JSON.stringify(name)} is held by others, and waitMs is 0`
      : `lock ${JSON.stringify(name)} stayed held by others for ${waitMs} ms`
  return new AcquireTimeoutError(message, { line: name })
}
