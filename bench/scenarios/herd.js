/**
 * 10, 100 and 1 000 clients in 4 processes want one key at the same moment, each once: how many requests that takes.
 */
import { sharedNow } from '../clock.js'
import { Crew } from '../crew.js'
import { etcdCounts } from '../etcd-metrics.js'

const CLIENTS = [10, 100, 1_000]
const PROCESSES = 4
const HEAD_START_MS = 50

/** @type {import('../scenario.ts').Scenario} */
export const herd = {
  name: 'herd',
  title: 'A herd: all want one key at once, each once; the store counts its requests',
  rounds: (rounds) => Math.min(rounds, 3),
  // Only etcd counts its requests.
  suits: (_adapter, { store }) => store.scheme === 'etcd',
  metrics: [
    { key: 'requestsPerHold', title: 'requests/hold', better: 'less' },
    { key: 'watchMessagesPerHold', title: 'watch messages/hold', better: 'less' },
    { key: 'holdsPerS', title: 'holds/s', better: 'more' },
  ],
  async run(adapter, { store }) {
    const { herdMax = Number.POSITIVE_INFINITY } = adapter
    return Crew.with(adapter, store, { ttlMs: 30_000, counting: false }, async (crew) => {
      const children = await Promise.all(Array.from({ length: PROCESSES }, () => crew.hire()))
      /** @type {import('../scenario.ts').Round} */
      const round = {}
      for (const count of CLIENTS.filter((clients) => clients <= herdMax)) {
        const before = await etcdCounts(store.url)
        const startsAt = sharedNow() + HEAD_START_MS
        /** @type {number[]} */
        const ends = await Promise.all(
          children.map((child, c) => {
            const clients = Math.floor((count + c) / children.length)
            return child.perform('herd.run', { key: `bench:herd:${count}`, clients, startsAt })
          }),
        )
        const after = await etcdCounts(store.url)
        round[`n=${count}`] = {
          requestsPerHold: (after.requests - before.requests) / count,
          watchMessagesPerHold: (after.watchMessages - before.watchMessages) / count,
          holdsPerS: (count / (Math.max(...ends) - startsAt)) * 1_000,
        }
      }
      return round
    })
  },
}
