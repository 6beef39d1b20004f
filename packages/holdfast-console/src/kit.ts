/** What the console shows beside locks: the last runs of jobs, and how limiters stand. */
import { type Holdfast, type Limiter, UnsupportedError } from 'holdfast'
import type { WatchedLimiter } from './options.ts'
import type { JobView, LimiterView } from './wire.ts'

export class Kit {
  readonly #hf: Holdfast
  readonly #limiters: readonly { readonly limiter: Limiter; readonly key: string }[]
  #hasJobs = true

  constructor(hf: Holdfast, limiters: readonly WatchedLimiter[]) {
    this.#hf = hf
    this.#limiters = limiters.flatMap(({ name, limit, perMs, burst = limit, keys }) => {
      const limiter = hf.limiter(name, { limit, perMs, burst })
      return keys.map((key) => ({ limiter, key }))
    })
  }

  /** How many limiters are looked at, with one request each. */
  get size(): number {
    return this.#limiters.length
  }

  async jobs(): Promise<JobView[]> {
    if (!this.#hasJobs) return []
    try {
      return Object.entries(await this.#hf.jobs())
        .map(([name, { startedMs, endedMs, ok, host, pid }]) => ({
          name,
          startedMs,
          endedMs,
          ok,
          who: `${host}:${pid}`,
        }))
        .sort((a, b) => b.startedMs - a.startedMs)
    } catch (error) {
      if (!(error instanceof UnsupportedError)) throw error
      // A store without cells has no jobs, now and later.
      this.#hasJobs = false
      return []
    }
  }

  limiters(): Promise<LimiterView[]> {
    return Promise.all(
      this.#limiters.map(async ({ limiter, key }) => {
        const { remaining, retryAfterMs, shut } = await limiter.look(key)
        const { name, limit, perMs, burst } = limiter
        return { name, key, limit, perMs, burst, remaining, retryMs: retryAfterMs, shut }
      }),
    )
  }
}
