/** Many locks held by one process and kept alive: 100 000 in memory, 10 000 elsewhere, or `--held`. */
import { Crew } from '../crew.js'

// Long enough for a process that gets a fifth of a core to keep its holds; a store may ask for another.
const TTL_MS = 9_000
const LOCKS_MANY = 100_000
const MANY_TTL_MS = 60_000
/** This takes a minute on a quiet machine, and may take longer on a busy one. */
const MANY_LIMIT_MS = 600_000

/** @type {import('../scenario.ts').Scenario} */
export const holds = {
  name: 'holds',
  title: 'Locks held by one process',
  rounds: (rounds) => Math.min(rounds, 3),
  suits: (adapter) => adapter.renews !== false,
  metrics: [
    { key: 'touchesPerTtl', title: 'touch calls per ttl', better: 'less' },
    { key: 'callsPerS', title: 'store calls/s', better: 'less' },
    { key: 'placesPerTouch', title: 'places/call', better: 'more' },
    { key: 'keepAlivesPerThird', title: 'etcd: keep-alives per ttl/3', better: 'less' },
    { key: 'requestsPerThird', title: 'etcd: requests per ttl/3', better: 'less' },
    { key: 'timersPerLock', title: 'timers/lock', better: 'less' },
    { key: 'delayMs', title: 'worst loop delay ms', better: 'less' },
    { key: 'idleDelayMs', title: 'same before, idle' },
    { key: 'heapBPerLock', title: 'heap B/lock', better: 'less' },
    { key: 'storeBPerLock', title: 'B/lock in the store', better: 'less' },
    { key: 'cpuShare', title: 'CPU share', better: 'less' },
    { key: 'acquiredPerS', title: 'acquired/s', better: 'more' },
    { key: 'lost', title: 'lost', better: 'less' },
  ],
  async run(adapter, { store, held }) {
    const locks = held ?? store.heldLocks
    // To acquire them all must take less than a lease.
    const ttlMs = locks > LOCKS_MANY ? MANY_TTL_MS : (store.heldTtlMs ?? TTL_MS)
    return Crew.with(adapter, store, { ttlMs, counting: true }, async (crew) => {
      const child = await crew.hire()
      const limitMs = locks > LOCKS_MANY ? MANY_LIMIT_MS : undefined
      const etcdUrl = store.scheme === 'etcd' ? store.url : null
      return { [`n=${locks}`]: await child.perform('holds.measure', { locks, ttlMs, etcdUrl }, limitMs) }
    })
  },
}
