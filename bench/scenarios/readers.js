/** 2 000 read locks that one process wants at once, and a lock on another name beside them. */
import { Crew } from '../crew.js'

const READERS = 2_000
const TTL_MS = 10_000

/** @type {import('../scenario.ts').Scenario} */
export const readers = {
  name: 'readers',
  title: `${READERS} read locks of one process`,
  suits: (adapter) => adapter.reads === true,
  metrics: [
    { key: 'heldMs', title: 'all held after ms', better: 'less' },
    { key: 'releasedMs', title: 'all released after ms', better: 'less' },
    { key: 'otherBeforeMs', title: 'another lock: ms before' },
    { key: 'otherMeanwhileMs', title: 'at worst while they enter', better: 'less' },
    { key: 'otherBesideMs', title: 'while they hold', better: 'less' },
    { key: 'otherRatio', title: 'hold / before', better: 'less' },
    { key: 'lost', title: 'lost', better: 'less' },
  ],
  async run(adapter, { store }) {
    return Crew.with(adapter, store, { ttlMs: TTL_MS, counting: false }, async (crew) => {
      const child = await crew.hire()
      return { [`n=${READERS}`]: await child.perform('readers.measure', { readers: READERS }) }
    })
  },
}
