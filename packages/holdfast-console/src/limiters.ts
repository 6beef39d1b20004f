/**
 * Which limiters there are, and how they stand. A store does not list its limiters. Processes that report name theirs,
 * with the keys that they refuse the most, and the options of the console name others.
 */
import { type Holdfast, type Limiter, UsageError } from 'holdfast'
import type { WatchedLimiter } from './options.ts'
import type { LimiterView } from './wire.ts'

/** A limiter, as the reports of all processes together describe it. */
export interface SeenLimiter extends WatchedLimiter {
  readonly burst: number
  readonly allowed: number
  readonly refused: number
}

/** How many keys of reported limiters each look reads, in turn: each costs the store a request. */
const KEYS_A_LOOK = 2
const KEYS_MAX = 200

interface Watched {
  readonly limiter: Limiter
  readonly key: string
}

export class Limiters {
  readonly #hf: Holdfast
  readonly #prefix: string
  readonly #named: readonly Watched[]
  #reported: Watched[] = []
  #totals = new Map<string, SeenLimiter>()
  readonly #views = new Map<string, LimiterView>()
  #turn = 0

  constructor(hf: Holdfast, named: readonly WatchedLimiter[], prefix: string) {
    this.#hf = hf
    this.#prefix = prefix
    this.#named = named.flatMap((one) => this.#watch(one))
  }

  /** How many requests a look costs. */
  get cost(): number {
    return this.#named.length + Math.min(KEYS_A_LOOK, this.#reported.length)
  }

  /** Takes what processes report now. */
  hear(seen: readonly SeenLimiter[]): void {
    const own = new Set(this.#named.map(idOf))
    const mine = seen.filter(({ name }) => name.startsWith(this.#prefix))
    this.#totals = new Map(mine.map((one) => [rateOf(one), one]))
    const watched = mine.flatMap((one) => this.#tryWatch(one)).filter((one) => !own.has(idOf(one)))
    this.#reported = watched.slice(0, KEYS_MAX)
    const known = new Set([...own, ...this.#reported.map(idOf)])
    for (const id of this.#views.keys()) if (!known.has(id)) this.#views.delete(id)
  }

  /** Keys that are shut or refuse the most come first. */
  async look(): Promise<LimiterView[]> {
    await Promise.all([...this.#named, ...this.#next()].map((one) => this.#ask(one)))
    const rank = ({ shut, burst, remaining }: LimiterView): number => (shut ? -1 : remaining / burst)
    return [...this.#views.values()].toSorted((a, b) => rank(a) - rank(b) || b.refused - a.refused)
  }

  #next(): Watched[] {
    const all = this.#reported
    const chosen = Array.from(
      { length: Math.min(KEYS_A_LOOK, all.length) },
      (_, i) => all[(this.#turn + i) % all.length],
    )
    this.#turn = (this.#turn + KEYS_A_LOOK) % Math.max(1, all.length)
    return chosen as Watched[]
  }

  async #ask(one: Watched): Promise<void> {
    const { limiter, key } = one
    const { name, limit, perMs, burst } = limiter
    const { remaining, retryAfterMs: retryMs, shut } = await limiter.look(key)
    const { allowed = 0, refused = 0 } = this.#totals.get(rateOf(limiter)) ?? {}
    const view = { name, key, limit, perMs, burst, remaining, retryMs, shut, allowed, refused, atMs: Date.now() }
    this.#views.set(idOf(one), view)
  }

  #watch({ name, limit, perMs, burst = limit, keys }: WatchedLimiter): Watched[] {
    const limiter = this.#hf.limiter(name, { limit, perMs, burst })
    return keys.map((key) => ({ limiter, key }))
  }

  /** A report comes from the store and may contain anything, so options that a limiter refuses are skipped. */
  #tryWatch(seen: SeenLimiter): Watched[] {
    try {
      return this.#watch(seen)
    } catch (error) {
      if (error instanceof UsageError) return []
      throw error
    }
  }
}

type Rate = Pick<Limiter, 'name' | 'limit' | 'perMs' | 'burst'>

export const rateOf = ({ name, limit, perMs, burst }: Rate): string => `${limit}/${perMs}/${burst}/${name}`
const idOf = ({ limiter, key }: Watched): string => JSON.stringify([rateOf(limiter), key])
