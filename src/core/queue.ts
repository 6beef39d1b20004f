/**
 * The callers of one process that share a place in a line. The place is handed on among them a bounded number of times
 * and then goes to the back of the line, so that a busy process can't keep others out.
 * A strict caller, a reader or a permit has a queue of its own, with one caller in it.
 */
import { Attempt, type Applicant } from './attempt.ts'
import type { Core } from './core.ts'
import { AcquireTimeoutError, type HoldfastError, StoreUnreachableError } from './errors.ts'
import { Handle } from './handle.ts'
import { Hold, type Issuer } from './hold.ts'
import type { Lease } from './lease.ts'
import type { Spec } from './spec.ts'
import type { Waiter } from './waiter.ts'

const OURS = Promise.resolve(true)

export class LocalQueue implements Applicant, Issuer {
  readonly #core: Core
  readonly #spec: Spec
  #first: Waiter | null = null
  #last: Waiter | null = null
  /** Callers that still wait. */
  #waiting = 0
  #attempt: Attempt | null = null
  #hold: Hold | null = null
  #firstGrantAt = 0

  constructor(core: Core, spec: Spec) {
    this.#core = core
    this.#spec = spec
  }

  get isIdle(): boolean {
    return this.#attempt === null && this.#hold === null
  }

  add(waiter: Waiter): void {
    const { wish } = waiter
    const isBusy = !this.isIdle
    if (isBusy && wish.waitMs === 0) {
      waiter.resolve(null)
      return
    }
    if (this.#last === null) this.#first = waiter
    else this.#last.next = waiter
    this.#last = waiter
    this.#waiting++
    if (wish.signal !== null || wish.waitMs !== Number.POSITIVE_INFINITY) {
      waiter.arm(this.#core.runtime, (why) => this.#gaveUp(waiter, why))
    }
    if (!isBusy) this.#start(wish.waitMs !== 0)
  }

  /** Begins with a place that was granted outside: taken together with others, or handed on by another process. */
  admit(lease: Lease, counter: number, owner: object | symbol | null): Handle {
    this.#firstGrantAt = lease.sinceMonoMs
    const hold = new Hold(this.#core, this, this.#spec, lease, counter, owner)
    this.#hold = hold
    if (owner !== null) this.#core.owners.remember(hold)
    return new Handle(hold, this.#spec, null)
  }

  granted(lease: Lease): void {
    this.#attempt = null
    this.#firstGrantAt = lease.sinceMonoMs
    const waiter = this.#shift()
    if (waiter === null) {
      void this.#giveBack(lease, 0)
      this.#rest()
    } else {
      this.#issue(lease, 0, waiter)
    }
  }

  refused(): void {
    this.#attempt = null
    // The one that asked for a single try came first, unless it was aborted meanwhile; those behind it are patient.
    if (this.#peek()?.wish.waitMs === 0) this.#shift()?.resolve(null)
    if (this.#waiting > 0) this.#start(true)
    else this.#rest()
  }

  failed(error: HoldfastError): void {
    this.#attempt = null
    for (let waiter = this.#shift(); waiter !== null; waiter = this.#shift()) waiter.reject(error)
    this.#rest()
  }

  takeBack(hold: Hold): Promise<boolean> {
    const { lease } = hold
    this.#hold = null
    if (this.#mayHandOn(hold)) {
      const waiter = this.#shift()
      if (waiter !== null) {
        this.#issue(lease, hold.counter + 1, waiter)
        return OURS
      }
    }
    // Enter first, then leave: the next place then stands in line by the time this one is gone.
    if (this.#waiting > 0) this.#start(true)
    else this.#rest()
    return this.#giveBack(lease, hold.lingerMs)
  }

  forget(hold: Hold): void {
    if (this.#hold !== hold) return
    this.#hold = null
    if (this.#waiting > 0) this.#start(true)
    else this.#rest()
  }

  /** Rejects all callers and gives everything back. */
  async close(error: HoldfastError): Promise<void> {
    this.#attempt?.cancel()
    this.failed(error)
    const hold = this.#hold
    if (hold === null) return
    this.#hold = null
    hold.close()
    await this.#giveBack(hold.lease, hold.lingerMs)
  }

  #start(wait: boolean): void {
    this.#attempt = new Attempt(this.#core, this.#spec, wait, this)
    this.#attempt.start()
  }

  #issue(lease: Lease, counter: number, waiter: Waiter): void {
    const { spec, wish } = waiter
    const hold = new Hold(this.#core, this, spec, lease, counter, wish.owner)
    this.#hold = hold
    if (wish.owner !== null) this.#core.owners.remember(hold)
    waiter.resolve(new Handle(hold, spec, null))
  }

  /** Bounded by count and by one ttl, and only with enough of the lease left for the next one to work with. */
  #mayHandOn(hold: Hold): boolean {
    if (this.#waiting === 0) return false
    const { ttlMs, handovers } = this.#spec.settings
    if (hold.counter >= handovers) return false
    const { keeper, runtime } = this.#core
    if (runtime.now() - this.#firstGrantAt >= ttlMs) return false
    return keeper.leftMs(hold.lease) >= ttlMs / 3 && !keeper.isDoubtful(hold.lease)
  }

  #giveBack(lease: Lease, afterMs: number): Promise<true> {
    this.#core.keeper.remove(lease)
    lease.unwatch()
    // The second leave finds the id unknown, and so the store refuses an enter of it that was long under way.
    const left = this.#core.reaper.leave(lease.entry, afterMs)
    if (afterMs > 0) return left
    return lease.doubted ? left.then(() => this.#core.reaper.leave(lease.entry)) : left
  }

  /** The first that still waits. Those that gave up are passed over here, since to look for them would cost. */
  #peek(): Waiter | null {
    while (this.#first?.settled === true) this.#drop(this.#first)
    return this.#first
  }

  #shift(): Waiter | null {
    const waiter = this.#peek()
    if (waiter === null) return null
    this.#drop(waiter)
    this.#waiting--
    return waiter
  }

  #drop(first: Waiter): void {
    this.#first = first.next
    if (this.#first === null) this.#last = null
    // A dead caller that has grown old must not keep a young one alive: at 256 lines the collector's work was half of all.
    first.next = null
  }

  #gaveUp(waiter: Waiter, why: 'time' | 'signal'): unknown {
    this.#waiting--
    const outage = this.#attempt?.outage ?? null
    if (this.#waiting === 0 && this.#attempt !== null) {
      this.#attempt.cancel()
      this.#attempt = null
      if (this.#hold === null) this.#rest()
    }
    if (why === 'signal') return waiter.wish.signal?.reason
    const { name } = waiter.spec
    // Never confuse "somebody holds it" with "nobody could be asked".
    if (outage !== null) {
      return new StoreUnreachableError(
        `line ${JSON.stringify(name)}: the store did not answer within ${waiter.wish.waitMs} ms`,
        { line: name, cause: outage },
      )
    }
    return timedOut(name, waiter.wish.waitMs)
  }

  #rest(): void {
    this.#core.rest(this)
  }
}

export function timedOut(name: string, waitMs: number): AcquireTimeoutError {
  const message =
    waitMs === 0
      ? `line ${JSON.stringify(name)} is held by others, and waitMs is 0`
      : `line ${JSON.stringify(name)} stayed held by others for ${waitMs} ms`
  return new AcquireTimeoutError(message, { line: name })
}
