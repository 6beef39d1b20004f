/** Rate limits: 1, 16 and 256 tasks of one process that take, over a thousand keys. */
import { Crew } from '../crew.js'

const CONCURRENCIES = [1, 16, 256]

/** @type {import('../scenario.ts').Scenario} */
export const limiter = {
  name: 'limiter',
  title: 'Takes from a rate limit that is not reached, over 1 000 keys',
  metrics: [
    { key: 'takesPerS', title: 'takes/s', better: 'more' },
    { key: 'cpuUsPerTake', title: 'client CPU µs/take', better: 'less' },
    { key: 'refused', title: 'refused', better: 'less' },
  ],
  async run(adapter, { store }) {
    const isLocal = store.scope === 'process'
    const params = { isLocal, warmMs: 200, windowMs: isLocal ? 200 : 400 }
    return Crew.with(adapter, store, { ttlMs: 30_000, counting: false }, async (crew) => {
      const child = await crew.hire()
      /** @type {import('../scenario.ts').Round} */
      const round = {}
      for (const concurrency of CONCURRENCIES) {
        round[`c=${concurrency}`] = await child.perform('limiter.measure', { concurrency, ...params })
      }
      return round
    })
  },
}
