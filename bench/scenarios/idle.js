/** 1 000 waiters of one process behind a lock that another holds. */
import { Crew } from '../crew.js'

const WAITERS = 1_000
const KEY = 'bench:idle'

/** @type {import('../scenario.ts').Scenario} */
export const idle = {
  name: 'idle',
  title: `${WAITERS} idle waiters of one process`,
  rounds: (rounds) => Math.min(rounds, 3),
  metrics: [
    { key: 'callsPerS', title: 'store calls/s', better: 'less' },
    { key: 'cpuSPerMin', title: 'client CPU s/min', better: 'less' },
  ],
  async run(adapter, { store }) {
    return Crew.with(adapter, store, { ttlMs: 30_000, counting: true }, async (crew) => {
      const waiter = await crew.hire()
      const isLocal = store.scope === 'process'
      const holder = isLocal ? waiter : await crew.hire()
      await holder.perform('idle.hold', { key: KEY })
      const times = isLocal ? { settleMs: 300, windowMs: 1_000 } : { settleMs: 1_000, windowMs: 2_000 }
      return { [`n=${WAITERS}`]: await waiter.perform('idle.wait', { key: KEY, waiters: WAITERS, ...times }) }
    })
  },
}
