/**
 * A rate limit for each key: so many calls in so much time. The generic cell rate algorithm, exact, counted in the
 * store.
 */
import { checkName } from '../../contract/check.ts'
import type { Core } from '../../acquire/core.ts'
import { channels, diagnostics } from '../../contract/events.ts'
import { AcquireTimeoutError, OutcomeUnknownError, StoreError } from '../../contract/errors.ts'
import type { Demand, Taken } from '../../contract/driver.ts'
import type { Closers } from '../closers.ts'
import { pause } from '../pause.ts'
import { CellBuckets } from './cell-buckets.ts'
import type { LimiterCount } from './counts.ts'
import { checkCost, type LimiterSettings, resolveTake, type TakeOptions } from './options.ts'
import { Reserves } from './reserves.ts'
import { SerialTakes } from './serial.ts'

/** The answer of a limiter. */
export interface Outcome {
  /** Whether the call may happen. */
  readonly allowed: boolean
  /** How many calls could happen now. */
  readonly remaining: number
  /** How long until the limiter could allow the same call, if nobody else takes; 0 if it did. */
  readonly retryAfterMs: number
  /** How long until all of `burst` could be taken. */
  readonly resetMs: number
  /** True: the penalty rule has shut the key, whatever is left. */
  readonly shut: boolean
  /** False: the store did not answer or refused to count, and `whenDown: 'open'` allowed the call. */
  readonly counted: boolean
}

/** Any number of callers may share one limiter. Make it once, because what it knows of hot keys is its own. */
export interface Limiter {
  readonly name: string
  /** How many calls in `perMs`. */
  readonly limit: number
  /** The period. */
  readonly perMs: number
  /** How many calls at once after a rest. */
  readonly burst: number
  /** Takes `cost` (default 1; 1 to `burst`) of the key, if there is enough. */
  take(key: string, cost?: number): Promise<Outcome>
  /**
   * Waits until it has taken, in order within this process. AcquireTimeoutError at once if `waitMs` can't be enough.
   */
  acquire(key: string, options?: TakeOptions): Promise<Outcome>
  /** Looks without taking: whether one call could happen, and when. */
  look(key: string): Promise<Outcome>
}

export const KEY_BYTES_MAX = 256
const NAMES_MAX = 4_096
/** How soon after an outage the store is asked again. Meanwhile a limiter with `whenDown: 'open'` does not wait. */
const OUTAGE_MS = 1_000

const OPEN: Outcome = Object.freeze({
  allowed: true,
  remaining: 0,
  retryAfterMs: 0,
  resetMs: 0,
  shut: false,
  counted: false,
})

export class StoreLimiter implements Limiter {
  readonly name: string
  readonly #core: Core
  readonly #settings: LimiterSettings
  readonly #closers: Closers
  readonly #prefix: string
  readonly #take: (key: string, demand: Demand) => Taken | Promise<Taken>
  readonly #reserves: Reserves | null
  readonly #turns: SerialTakes
  readonly #names = new Map<string, string>()
  /** null: this process does not report. */
  readonly #count: LimiterCount | null
  #downUntilMs = Number.NEGATIVE_INFINITY

  constructor(core: Core, name: string, settings: LimiterSettings, closers: Closers, count: LimiterCount | null) {
    const { driver, runtime } = core
    this.name = name
    this.#core = core
    this.#settings = settings
    this.#closers = closers
    this.#count = count
    const { unit, drain } = settings.demand
    // A bucket counts in units of its own rate, so another rate is another bucket. The length of the name keeps names
    // and keys apart.
    this.#prefix = `holdfast/limit/${unit}/${drain}/${name.length}/${name}/`
    if (driver.take === undefined) {
      const buckets = new CellBuckets(core)
      this.#take = (key, demand) => buckets.take(key, demand)
    } else {
      this.#take = driver.take.bind(driver)
    }
    const { batch } = settings
    const ask = async (key: string, cost: number): Promise<Taken> => this.#take(key, this.#demand(cost))
    this.#reserves = batch === null ? null : new Reserves(runtime, settings, batch, ask)
    this.#turns = new SerialTakes(runtime)
  }

  get limit(): number {
    return this.#settings.limit
  }

  get perMs(): number {
    return this.#settings.perMs
  }

  get burst(): number {
    return this.#settings.burst
  }

  // Not async: on a hot path every further promise costs time.
  take(key: string, cost = 1): Promise<Outcome> {
    try {
      if (cost !== 1) checkCost(cost, this.#settings.burst)
      const outcome = this.#try(this.#keyOf(key), cost)
      const isHeard = channels.limited.hasSubscribers || this.#count !== null
      return isHeard ? outcome.then((told) => this.#tell(key, told)) : outcome
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async look(key: string): Promise<Outcome> {
    const name = this.#keyOf(key)
    this.#core.assertOpen()
    return this.#look(name, 1)
  }

  async acquire(key: string, options?: TakeOptions): Promise<Outcome> {
    const { cost, waitMs, signal } = resolveTake(options, this.#settings.burst)
    const name = this.#keyOf(key)
    signal?.throwIfAborted()
    this.#core.assertOpen()
    const closing = new AbortController()
    const close = (): void => closing.abort(this.#core.closedError())
    this.#closers.add(close)
    const ending = signal === null ? closing.signal : AbortSignal.any([signal, closing.signal])
    const until = this.#core.runtime.now() + waitMs
    let leave: (() => void) | null = null
    try {
      leave = await this.#turns.take(name, waitMs, ending)
      if (leave === null) throw this.#timedOut(key, waitMs)
      for (;;) {
        const outcome = this.#tell(key, await this.#tryQuietly(name, cost))
        if (outcome.allowed) return outcome
        const { runtime } = this.#core
        // Nobody gives anything back, so it can't come sooner.
        if (runtime.now() + outcome.retryAfterMs > until || waitMs === 0) throw this.#timedOut(key, waitMs)
        await pause(runtime, outcome.retryAfterMs, ending)
      }
    } catch (error) {
      // When the instance closes, an answer that is still under way may fail. The caller should hear of the closing
      // instead.
      throw ending.aborted ? ending.reason : error
    } finally {
      leave?.()
      this.#closers.delete(close)
    }
  }

  #try(name: string, cost: number): Promise<Outcome> {
    this.#core.assertOpen()
    const { whenDown } = this.#settings
    if (whenDown === 'open') return this.#orOpen(() => this.#ask(name, cost))
    const answer = this.#ask(name, cost)
    return answer instanceof Promise ? answer.then(asOutcome) : Promise.resolve(asOutcome(answer))
  }

  /** A waiting caller must not ask in vain. With a penalty it looks first, so that its patience shuts no key. */
  async #tryQuietly(name: string, cost: number): Promise<Outcome> {
    this.#core.assertOpen()
    if (this.#settings.demand.shutAfter === 0) return this.#try(name, cost)
    const look = await this.#look(name, cost)
    return look.allowed ? this.#try(name, cost) : look
  }

  /** What a take would get. Taking nothing is always granted, so that answer must be computed from the counts. */
  async #look(name: string, cost: number): Promise<Outcome> {
    const { burst, perMs, limit } = this.#settings
    const look = await this.#orOpen(() => this.#take(name, this.#demand(0)))
    if (!look.counted || look.shut) return look
    const allowed = look.remaining >= cost
    const retryAfterMs = allowed ? 0 : Math.max(0, look.resetMs - ((burst - cost) * perMs) / limit)
    return { ...look, allowed, retryAfterMs }
  }

  #ask(name: string, cost: number): Taken | Promise<Taken> {
    return this.#reserves === null ? this.#take(name, this.#demand(cost)) : this.#reserves.take(name, cost)
  }

  async #orOpen(ask: () => Taken | Promise<Taken>): Promise<Outcome> {
    if (this.#settings.whenDown === 'closed') return asOutcome(await ask())
    const { runtime } = this.#core
    if (runtime.now() < this.#downUntilMs) return OPEN
    try {
      return asOutcome(await ask())
    } catch (error) {
      // The store is silent, full, read-only or still loading, so it does not count. `whenDown` says what that means.
      if (!(error instanceof StoreError || error instanceof OutcomeUnknownError)) throw error
      diagnostics.failed(this.name, error)
      this.#downUntilMs = runtime.now() + OUTAGE_MS
      return OPEN
    }
  }

  #demand(cost: number): Demand {
    const { demand } = this.#settings
    return cost === 1 ? demand : { ...demand, cost }
  }

  /** The name of the key's bucket. Checking, joining and hashing a string anew cost as much as the rest of a take. */
  #keyOf(key: string): string {
    const known = this.#names.get(key)
    if (known !== undefined) return known
    if (this.#names.size >= NAMES_MAX) this.#names.clear()
    const name = this.#prefix + checkName('a key of a limiter', key, KEY_BYTES_MAX)
    this.#names.set(key, name)
    return name
  }

  #tell(key: string, outcome: Outcome): Outcome {
    this.#count?.add(key, outcome.allowed)
    if (!outcome.allowed && channels.limited.hasSubscribers) {
      const { retryAfterMs: retryMs, shut } = outcome
      channels.limited.publish({ ...this.#core.source, limiter: this.name, key, retryMs, shut })
    }
    return outcome
  }

  #timedOut(key: string, waitMs: number): AcquireTimeoutError {
    return new AcquireTimeoutError(
      `rate limit ${JSON.stringify(this.name)}: there is not enough for ${JSON.stringify(key)} within ${waitMs} ms`,
      { line: this.name },
    )
  }
}

function asOutcome({ taken, left, retryMs, resetMs, shut }: Taken): Outcome {
  return {
    allowed: taken,
    // Another user of the name may allow a larger burst, and has taken it. Then more is gone than this limiter would
    // give.
    remaining: Math.max(0, left),
    retryAfterMs: retryMs,
    // The bucket of a shut key may be empty long before anything can be taken from it.
    resetMs: shut ? Math.max(resetMs, retryMs) : resetMs,
    shut,
    counted: true,
  }
}
