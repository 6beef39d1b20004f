/** Locks that stay with their process after a release (`keep: true`): what they save, and what a rival waits for. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Crew } from '../crew.js'
import { quantile } from '../stats.js'

/** With six samples, one slow moment of the machine moved the median by a half. */
const SAMPLES = 12
const WINDOW_MS = 300
/**
 * A change sooner after a grant may be one's own, and is asked about first: a kept lock is mostly older than that. The
 * plain hand-over comes after the same rest: a process that slept for 600 ms is slower than one that slept for 100, and
 * only the lock may differ.
 */
const REST_MS = 600

/** @typedef {import('../crew.js').Child} Child */
/** @typedef {{ askedAt: number, heldAt: number }} Taken */

/** From the rival's question to its hold. @param {Child} keeper @param {Child} rival @param {string} key */
async function wakeMs(keeper, rival, key) {
  await keeper.perform('kept.use', { key })
  await sleep(REST_MS)
  const { askedAt, heldAt } = /** @type {Taken} */ (await rival.perform('kept.take', { key }))
  return heldAt - askedAt
}

/** From the holder's release to the rival's hold. @param {Child} holder @param {Child} rival @param {string} key */
async function handoverMs(holder, rival, key) {
  await holder.perform('kept.hold', { key })
  const taken = rival.perform('kept.take', { key })
  await sleep(REST_MS)
  const releasedAt = /** @type {number} */ (await holder.perform('kept.letGo', { key }))
  return /** @type {Taken} */ (await taken).heldAt - releasedAt
}

/** @type {import('../scenario.ts').Scenario} */
export const kept = {
  name: 'kept',
  title: 'A kept lock: pairs of one process, and the first foreign waiter',
  rounds: (rounds) => Math.min(rounds, 3),
  suits: (adapter) => adapter.keeps === true,
  metrics: [
    { key: 'pairsPerS', title: 'pairs/s', better: 'more' },
    { key: 'wakeMs', title: 'first foreign waiter ms', better: 'less' },
    { key: 'handoverMs', title: 'hand-over ms', better: 'less' },
    { key: 'wakeRatio', title: 'waiter / hand-over', better: 'less' },
  ],
  async run(adapter, { store }) {
    return Crew.with(adapter, store, { ttlMs: 30_000, counting: false }, async (crew) => {
      const keeper = await crew.hire()
      /** @type {{ pairsPerS: number }} */
      const { pairsPerS } = await keeper.perform('kept.pairs', { key: 'bench:kept', windowMs: WINDOW_MS })
      // No other process sees a store in memory.
      if (store.scope === 'process') return { 'one process': { pairsPerS } }
      const rival = await crew.hire()
      const wakes = []
      const handovers = []
      for (let i = 0; i <= SAMPLES; i++) {
        const [wake, handover] = [
          await wakeMs(keeper, rival, 'bench:kept:wake'),
          await handoverMs(keeper, rival, 'bench:kept:plain'),
        ]
        // Leave out the first sample, whose code was never run before.
        if (i === 0) continue
        wakes.push(wake)
        handovers.push(handover)
      }
      const [wakeMedian, handoverMedian] = [quantile(wakes, 0.5), quantile(handovers, 0.5)]
      const figures = { wakeMs: wakeMedian, handoverMs: handoverMedian, wakeRatio: wakeMedian / handoverMedian }
      return { 'one process': { pairsPerS, ...figures } }
    })
  },
}
