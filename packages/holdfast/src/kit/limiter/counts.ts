/** What this process asked of its limiters, for its report: how often, how often it was refused, and for which keys. */
import type { LimiterSettings } from './options.ts'

/** One limiter, as a report shows it. */
export interface ReportedLimiter {
  readonly name: string
  /** How many calls in `perMs`. */
  readonly limit: number
  /** The period. */
  readonly perMs: number
  /** How many calls at once after a rest. */
  readonly burst: number
  /** How many tries were granted since the process began. */
  readonly allowed: number
  /** How many tries were refused since the process began. */
  readonly refused: number
  /** The keys with the most refusals, then the keys used last. */
  readonly keys: readonly string[]
}

const LIMITERS_MAX = 32
const KEYS_MAX = 64

export class LimiterCount {
  readonly #name: string
  readonly #settings: LimiterSettings
  readonly #changed: () => void
  /** How often each key was refused; the key used last stands last. */
  readonly #keys = new Map<string, number>()
  #allowed = 0
  #refused = 0

  constructor(name: string, settings: LimiterSettings, changed: () => void) {
    this.#name = name
    this.#settings = settings
    this.#changed = changed
  }

  get total(): number {
    return this.#allowed + this.#refused
  }

  add(key: string, isAllowed: boolean): void {
    if (isAllowed) this.#allowed++
    else this.#refused++
    const refused = (this.#keys.get(key) ?? 0) + (isAllowed ? 0 : 1)
    this.#keys.delete(key)
    this.#keys.set(key, refused)
    const [oldest] = this.#keys.keys()
    if (this.#keys.size > KEYS_MAX && oldest !== undefined) this.#keys.delete(oldest)
    this.#changed()
  }

  report(keys: number): ReportedLimiter {
    const { limit, perMs, burst } = this.#settings
    const first = [...this.#keys].toReversed().toSorted(([, a], [, b]) => b - a)
    const named = first.slice(0, keys).map(([key]) => key)
    return { name: this.#name, limit, perMs, burst, allowed: this.#allowed, refused: this.#refused, keys: named }
  }
}

/** The counts of one instance. A limiter that is made again with the same rate has the same counts. */
export class LimiterCounts {
  readonly #changed: () => void
  readonly #counts = new Map<string, LimiterCount>()

  constructor(changed: () => void) {
    this.#changed = changed
  }

  /** null: there are too many limiters. */
  of(name: string, settings: LimiterSettings): LimiterCount | null {
    const { limit, perMs, burst } = settings
    const id = `${limit}/${perMs}/${burst}/${name}`
    const known = this.#counts.get(id)
    if (known !== undefined) return known
    if (this.#counts.size >= LIMITERS_MAX) return null
    const count = new LimiterCount(name, settings, this.#changed)
    this.#counts.set(id, count)
    return count
  }

  /** How many limiters were used at all. */
  get used(): number {
    return this.#used().length
  }

  /** The busiest first. */
  report(limiters: number, keys: number): ReportedLimiter[] {
    const busiest = this.#used().toSorted((a, b) => b.total - a.total)
    return busiest.slice(0, limiters).map((count) => count.report(keys))
  }

  #used(): LimiterCount[] {
    return [...this.#counts.values()].filter(({ total }) => total > 0)
  }
}
