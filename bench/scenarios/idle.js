/** 1 000 waiters of one process behind a lock that another holds. */
import { Crew } from '../crew.js'

const WAITERS = 1_000
const PARAMS = { key: 'bench:idle', settleMs: 1_000, windowMs: 2_000 }

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
      const holder = store.scope === 'process' ? waiter : await crew.hire()
      await holder.perform('idle.hold', PARAMS)
      return { [`n=${WAITERS}`]: await waiter.perform('idle.wait', { ...PARAMS, waiters: WAITERS }) }
    })
  },
}
