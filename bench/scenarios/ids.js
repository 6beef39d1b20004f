/** Ids, as fast as one process can make them. */
import { Crew } from '../crew.js'

/** @type {import('../scenario.ts').Scenario} */
export const ids = {
  name: 'ids',
  title: 'Ids of one process, as fast as it can',
  metrics: [
    { key: 'idsPerS', title: 'ids/s', better: 'more' },
    { key: 'cpuUsPerId', title: 'CPU µs/id', better: 'less' },
    { key: 'repeated', title: 'of 300 000, came twice', better: 'less' },
  ],
  async run(adapter, { store }) {
    return Crew.with(adapter, store, { ttlMs: 30_000, counting: false }, async (crew) => {
      const child = await crew.hire()
      return { 'one process': await child.perform('ids.measure', { warmMs: 300, windowMs: 400 }) }
    })
  },
}
