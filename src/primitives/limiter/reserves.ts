/**
 * Takes from the store many at a time and hands them out in this process: for very hot keys.
 * What is handed out has been taken before, so the limit holds; only the time of use moves, by `holdMs` at most. In any
 * span of time s at most `burst + limit * (s + holdMs) / perMs` are let through, by all processes together, and each
 * process leaves up to `size` unused, which are lost to all.
 */
import type { Runtime } from '../../core/runtime.ts'
import type { Taken } from '../../driver.ts'
import type { LimiterSettings } from './options.ts'

/** What of a key lies in this process. */
interface Reserve {
  tokens: number
  /** The tokens are lost then, by the monotonic clock. */
  untilMs: number
  /** As the store said last. */
  left: number
  emptyAtMs: number
  /** The store refused this many, and will until then: nobody needs to ask again. */
  refused: number
  refusedUntilMs: number
  pending: Promise<Taken> | null
}

const KEYS_SWEEP_AT = 1_024

export class Reserves {
  readonly #runtime: Runtime
  readonly #settings: LimiterSettings
  readonly #size: number
  readonly #holdMs: number
  readonly #ask: (key: string, cost: number) => Promise<Taken>
  readonly #reserves = new Map<string, Reserve>()
  #sweepAt = KEYS_SWEEP_AT

  constructor(
    runtime: Runtime,
    settings: LimiterSettings,
    batch: { readonly size: number; readonly holdMs: number },
    ask: (key: string, cost: number) => Promise<Taken>,
  ) {
    this.#runtime = runtime
    this.#settings = settings
    this.#size = batch.size
    this.#holdMs = batch.holdMs
    this.#ask = ask
  }

  async take(key: string, cost: number): Promise<Taken> {
    const reserve = this.#reserveOf(key)
    for (;;) {
      const now = this.#runtime.now()
      if (now >= reserve.untilMs) reserve.tokens = 0
      if (cost <= reserve.tokens) {
        reserve.tokens -= cost
        return this.#answer(reserve, true, 0)
      }
      if (now < reserve.refusedUntilMs && cost - reserve.tokens >= reserve.refused) {
        return this.#answer(reserve, false, reserve.refusedUntilMs - now)
      }
      if (reserve.pending !== null) {
        await reserve.pending
        continue
      }
      reserve.pending = this.#refill(key, reserve, cost - reserve.tokens)
      try {
        const taken = await reserve.pending
        if (!taken.taken) return this.#answer(reserve, false, taken.retryMs)
      } finally {
        reserve.pending = null
      }
    }
  }

  /** Takes a batch; if there is not enough for one, what there is; answers whether `need` can be met. */
  async #refill(key: string, reserve: Reserve, need: number): Promise<Taken> {
    // The time counts from before the question: what was taken may lie here for so long, and no longer.
    const sentAt = this.#runtime.now()
    let asked = Math.max(this.#size, need)
    let taken = await this.#ask(key, asked)
    if (!taken.taken && taken.left >= need) {
      asked = Math.max(need, Math.min(asked, taken.left))
      taken = await this.#ask(key, asked)
    }
    const now = this.#runtime.now()
    reserve.left = taken.left
    reserve.emptyAtMs = now + taken.resetMs
    if (taken.taken) {
      // What is left of the last batch goes with the new one, but not beyond its own time.
      reserve.untilMs = reserve.tokens > 0 ? Math.min(reserve.untilMs, sentAt + this.#holdMs) : sentAt + this.#holdMs
      reserve.tokens += asked
      reserve.refusedUntilMs = 0
      return taken
    }
    const retryMs = taken.shut ? taken.retryMs : this.#waitMs(need, taken.resetMs)
    reserve.refused = need
    reserve.refusedUntilMs = now + retryMs
    return { ...taken, retryMs }
  }

  /** Until `cost` fits, from how long the bucket takes to be empty. */
  #waitMs(cost: number, resetMs: number): number {
    const { burst, limit, perMs } = this.#settings
    return Math.max(0, resetMs - ((burst - cost) * perMs) / limit)
  }

  #answer(reserve: Reserve, taken: boolean, retryMs: number): Taken {
    const resetMs = Math.max(0, reserve.emptyAtMs - this.#runtime.now())
    return { taken, left: reserve.left + reserve.tokens, retryMs, resetMs, shut: false }
  }

  #reserveOf(key: string): Reserve {
    const found = this.#reserves.get(key)
    if (found !== undefined) return found
    if (this.#reserves.size >= this.#sweepAt) this.#sweep()
    const reserve = { tokens: 0, untilMs: 0, left: 0, emptyAtMs: 0, refused: 0, refusedUntilMs: 0, pending: null }
    this.#reserves.set(key, reserve)
    return reserve
  }

  #sweep(): void {
    const now = this.#runtime.now()
    for (const [key, { untilMs, refusedUntilMs, pending }] of this.#reserves) {
      if (pending === null && untilMs <= now && refusedUntilMs <= now) this.#reserves.delete(key)
    }
    this.#sweepAt = Math.max(KEYS_SWEEP_AT, this.#reserves.size * 2)
  }
}
