/**
 * Takes many from the store at a time and hands them out in this process: for very hot keys. What this process hands
 * out was taken before, so the limit holds. Only the time of use moves: by at most `holdMs`, and by the time that the
 * store takes to answer. In any span of time s all processes together let through at most `burst + limit * (s + holdMs
 * + answer) / perMs`. Each process may leave up to `size` unused, which are lost to all.
 */
import type { Runtime } from '../../contract/runtime.ts'
import type { Taken } from '../../contract/driver.ts'
import type { LimiterSettings } from './options.ts'

/** A caller that waits for the store's answer. */
interface Caller {
  readonly cost: number
  resolve(taken: Taken): void
  reject(error: unknown): void
}

/** What this process has in reserve for a key. */
interface Reserve {
  tokens: number
  /** When the reserve is lost, by the monotonic clock. */
  untilMs: number
  /** As the store said last. */
  left: number
  emptyAtMs: number
  /** The store refused this many, and will refuse them until then: nobody needs to ask again. */
  refused: number
  refusedUntilMs: number
  /** True: refused because another user of the name has shut the key. */
  isShut: boolean
  /** In the order in which they came. While a caller stands here, a request to the store is under way. */
  callers: Caller[]
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
  /** True: the last answer came so late that the reserve it brought was lost already. */
  #isSlow = false

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

  take(key: string, cost: number): Taken | Promise<Taken> {
    const reserve = this.#reserveOf(key)
    if (reserve.callers.length === 0) {
      const known = this.#known(reserve, cost)
      if (known !== null) return known
    }
    return new Promise((resolve, reject) => {
      reserve.callers.push({ cost, resolve, reject })
      if (reserve.callers.length === 1) void this.#serve(key, reserve)
    })
  }

  /** The answer, if it can be given without the store; else null. */
  #known(reserve: Reserve, cost: number): Taken | null {
    const now = this.#runtime.now()
    if (now >= reserve.untilMs) reserve.tokens = 0
    if (cost <= reserve.tokens) {
      reserve.tokens -= cost
      return this.#answer(reserve, true, 0)
    }
    if (now < reserve.refusedUntilMs && cost - reserve.tokens >= reserve.refused) {
      return this.#answer(reserve, false, reserve.refusedUntilMs - now)
    }
    return null
  }

  /**
   * Each answer of the store settles the first of the callers, whatever it says and however late it is. So all settle.
   */
  async #serve(key: string, reserve: Reserve): Promise<void> {
    const { callers } = reserve
    while (callers.length > 0) {
      try {
        await this.#refill(key, reserve)
      } catch (error) {
        for (const caller of callers.splice(0)) caller.reject(error)
      }
    }
  }

  async #refill(key: string, reserve: Reserve): Promise<void> {
    // The time counts from before the request: a reserve may be kept for so long after that, and no longer.
    const sentAt = this.#runtime.now()
    if (sentAt >= reserve.untilMs) reserve.tokens = 0
    const first = (reserve.callers[0] as Caller).cost - reserve.tokens
    const wanted = Math.min(sum(reserve.callers) - reserve.tokens, this.#settings.burst)
    // A batch that is lost before it arrives helps nobody, and all have lost it. So ask a slow store only for what is
    // needed.
    let asked = this.#isSlow ? wanted : Math.max(wanted, this.#size)
    let taken = await this.#ask(key, asked)
    if (!taken.taken && taken.left >= first) {
      asked = Math.max(first, Math.min(asked, taken.left))
      taken = await this.#ask(key, asked)
    }
    const now = this.#runtime.now()
    this.#isSlow = now - sentAt >= this.#holdMs
    reserve.left = taken.left
    reserve.emptyAtMs = now + taken.resetMs
    reserve.isShut = taken.shut
    if (taken.taken) {
      // What is left of the last batch joins the new one, but must not be used beyond its own time.
      reserve.untilMs = reserve.tokens > 0 ? Math.min(reserve.untilMs, sentAt + this.#holdMs) : sentAt + this.#holdMs
      reserve.tokens += asked
      reserve.refusedUntilMs = 0
      this.#handOut(reserve)
      return
    }
    const waitMs = (cost: number): number => (taken.shut ? taken.retryMs : this.#waitMs(cost, taken.resetMs))
    reserve.refused = first
    reserve.refusedUntilMs = now + waitMs(first)
    this.#refuse(reserve, first, waitMs)
  }

  /**
   * Hands out to the callers that wait now, even if the answer is late: each of them asked the store, and this is the
   * answer.
   */
  #handOut(reserve: Reserve): void {
    const { callers } = reserve
    while (callers.length > 0 && (callers[0] as Caller).cost <= reserve.tokens) {
      const { cost, resolve } = callers.shift() as Caller
      reserve.tokens -= cost
      resolve(this.#answer(reserve, true, 0))
    }
  }

  /** Refuses all who want at least as much as was refused; the store may still serve the rest. */
  #refuse(reserve: Reserve, refused: number, waitMs: (cost: number) => number): void {
    const rest: Caller[] = []
    for (const caller of reserve.callers.splice(0)) {
      const lacking = caller.cost - reserve.tokens
      if (lacking >= refused) caller.resolve(this.#answer(reserve, false, waitMs(lacking)))
      else rest.push(caller)
    }
    reserve.callers.push(...rest)
  }

  /** How long until `cost` fits, computed from the time that the bucket takes to be empty. */
  #waitMs(cost: number, resetMs: number): number {
    const { burst, limit, perMs } = this.#settings
    return Math.max(0, resetMs - ((burst - cost) * perMs) / limit)
  }

  #answer(reserve: Reserve, taken: boolean, retryMs: number): Taken {
    const resetMs = Math.max(0, reserve.emptyAtMs - this.#runtime.now())
    return { taken, left: reserve.left + reserve.tokens, retryMs, resetMs, shut: !taken && reserve.isShut }
  }

  #reserveOf(key: string): Reserve {
    const found = this.#reserves.get(key)
    if (found !== undefined) return found
    if (this.#reserves.size >= this.#sweepAt) this.#sweep()
    const reserve: Reserve = {
      tokens: 0,
      untilMs: 0,
      left: 0,
      emptyAtMs: 0,
      refused: 0,
      refusedUntilMs: 0,
      isShut: false,
      callers: [],
    }
    this.#reserves.set(key, reserve)
    return reserve
  }

  #sweep(): void {
    const now = this.#runtime.now()
    for (const [key, { untilMs, refusedUntilMs, callers }] of this.#reserves) {
      if (callers.length === 0 && untilMs <= now && refusedUntilMs <= now) this.#reserves.delete(key)
    }
    this.#sweepAt = Math.max(KEYS_SWEEP_AT, this.#reserves.size * 2)
  }
}

function sum(callers: readonly Caller[]): number {
  let costs = 0
  for (const { cost } of callers) costs += cost
  return costs
}
