/** Uncontended pairs, in the child: each task acquires and releases a key of its own, as fast as it can. */
import { quantile } from '../stats.js'

/** @typedef {import('../adapter.ts').Client} Client */
/** @typedef {import('../adapter.ts').Lock} Lock */

const LATENCIES_MAX = 100_000

/**
 * @param {Client} client
 * @param {{ concurrency: number, warmMs: number, windowMs: number, pairsPerLook: number }} params
 */
export async function measure(client, { concurrency, warmMs, windowMs, pairsPerLook }) {
  const locks = Array.from({ length: concurrency }, (_, i) => client.lock(`bench:own:${process.pid}:${i}`))
  await spin(locks, warmMs, pairsPerLook)
  const cpu = process.cpuUsage()
  const { pairs, tookMs, latencies } = await spin(locks, windowMs, pairsPerLook)
  const { user, system } = process.cpuUsage(cpu)
  return {
    pairsPerS: (pairs / tookMs) * 1_000,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    cpuUsPerPair: (user + system) / pairs,
  }
}

/**
 * In one process a pair takes about as long as a few looks at the clock, so several pairs go by between two looks.
 * Timers cannot end the window there: the loop never leaves the microtasks.
 *
 * @param {readonly Lock[]} locks
 * @param {number} windowMs
 * @param {number} pairsPerLook
 */
async function spin(locks, windowMs, pairsPerLook) {
  const started = performance.now()
  const ends = started + windowMs
  const latencies = new Float64Array(LATENCIES_MAX)
  let looks = 0
  await Promise.all(
    locks.map(async (lock) => {
      for (let now = started; now < ends; ) {
        const before = now
        for (let i = 0; i < pairsPerLook; i++) {
          const token = await lock.acquire()
          const released = lock.release(token)
          if (released !== undefined) await released
        }
        now = performance.now()
        if (looks < LATENCIES_MAX) latencies[looks] = (now - before) / pairsPerLook
        looks++
      }
    }),
  )
  return {
    pairs: looks * pairsPerLook,
    tookMs: performance.now() - started,
    latencies: latencies.subarray(0, Math.min(looks, LATENCIES_MAX)),
  }
}
