/** Uncontended pairs, in the child: each task acquires and releases a key of its own, as fast as it can. */
import { busyNow } from '../clock.js'
import { quantile } from '../stats.js'

/** @typedef {import('../adapter.ts').Client} Client */
/** @typedef {import('../adapter.ts').Lock} Lock */

const LATENCIES_MAX = 100_000
const PAIRS_PER_LOOK = 64
/**
 * On a store with a thousand answers a second nothing is compiled after 200 ms, so the warm-up also counts pairs.
 */
const WARM_PAIRS = 2_000
const WARM_MS_MAX = 3_000
/** Names that each task goes through, with a lock made anew for every call. */
const NAMES = 1_000

/**
 * @param {Client} client
 * @param {{ concurrency: number, isFresh: boolean, warmMs: number, windowMs: number, isLocal: boolean }} params
 */
export async function measure(client, { concurrency, isFresh, warmMs, windowMs, isLocal }) {
  const locks = Array.from({ length: concurrency }, (_, i) => {
    const key = `bench:own:${process.pid}:${i}`
    return isFresh ? changing(client, key) : client.lock(key)
  })
  const warmUntil = performance.now() + WARM_MS_MAX
  for (let pairs = 0; pairs < WARM_PAIRS && performance.now() < warmUntil; ) {
    pairs += (await spin(locks, warmMs, isLocal)).pairs
  }
  const cpu = process.cpuUsage()
  const { pairs, tookMs, latencies } = await spin(locks, windowMs, isLocal)
  const { user, system } = process.cpuUsage(cpu)
  return {
    pairsPerS: (pairs / tookMs) * 1_000,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    cpuUsPerPair: (user + system) / pairs,
  }
}

/**
 * A new lock for every call, each time on another name, as most programs use locks.
 *
 * @param {Client} client
 * @param {string} key
 * @returns {Lock}
 */
function changing(client, key) {
  let number = 0
  /** @type {Lock} */
  let last
  const make = client.fresh ?? client.lock
  return {
    acquire() {
      last = make(`${key}:${number++ % NAMES}`)
      return last.acquire()
    },
    release: (token) => last.release(token),
  }
}

/**
 * In one process a pair takes about as long as a few looks at the clock, so several pairs go by between two looks.
 * Timers cannot end the window there: the loop never leaves the microtasks.
 *
 * @param {readonly Lock[]} locks
 * @param {number} windowMs
 * @param {boolean} isLocal
 */
async function spin(locks, windowMs, isLocal) {
  const pairsPerLook = isLocal ? PAIRS_PER_LOOK : 1
  const clock = isLocal ? busyNow : () => performance.now()
  const started = performance.now()
  const ends = clock() + windowMs
  const latencies = new Float64Array(LATENCIES_MAX)
  let looks = 0
  await Promise.all(
    locks.map(async (lock) => {
      let now = started
      while (clock() < ends) {
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
