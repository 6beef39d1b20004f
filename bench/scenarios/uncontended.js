/**
 * Pairs of acquire and release without contention: 1, 16 and 256 tasks, each on a key of its own, by a lock that is
 * kept (`c=1`), and by a lock made anew for every call on changing names (`c=1 fresh`), as most programs write it.
 */
import { Crew } from '../crew.js'

const CONCURRENCIES = [1, 16, 256]

/** @type {import('../scenario.ts').Scenario} */
export const uncontended = {
  name: 'uncontended',
  title: 'Uncontended pairs of acquire and release, each task on its own key',
  metrics: [
    { key: 'pairsPerS', title: 'pairs/s', better: 'more' },
    { key: 'p50Ms', title: 'p50 ms', better: 'less' },
    { key: 'p99Ms', title: 'p99 ms', better: 'less' },
    { key: 'cpuUsPerPair', title: 'client CPU µs/pair', better: 'less' },
  ],
  async run(adapter, { store, uses }) {
    const isLocal = store.scope === 'process'
    // A round trip at a time warms code up slowly: in 200 ms on a network half of it still runs unoptimised.
    const params = isLocal ? { isLocal, warmMs: 200, windowMs: 150 } : { isLocal, warmMs: 800, windowMs: 400 }
    return Crew.with(adapter, store, { ttlMs: 30_000, counting: false }, async (crew) => {
      const child = await crew.hire()
      /** @type {import('../scenario.ts').Round} */
      const round = {}
      for (const concurrency of CONCURRENCIES) {
        for (const use of uses) {
          const isFresh = use === 'fresh'
          const name = isFresh ? `c=${concurrency} fresh` : `c=${concurrency}`
          round[name] = await child.perform('uncontended.measure', { concurrency, isFresh, ...params })
        }
      }
      return round
    })
  },
}
