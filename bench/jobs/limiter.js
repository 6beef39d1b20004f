/** Takes from a limit that is never reached, in the child: so many tasks at a time, over a thousand keys. */
import { busyNow } from '../clock.js'

const KEYS = Array.from({ length: 1_000 }, (_, i) => `key:${i}`)
const TAKES_PER_LOOK = 64

/**
 * @param {import('../adapter.ts').Client} client
 * @param {{ concurrency: number, warmMs: number, windowMs: number, isLocal: boolean }} params
 */
export async function measure(client, { concurrency, warmMs, windowMs, isLocal }) {
  const limit = await client.limit?.()
  if (limit === undefined) throw new Error('this adapter has no limits')
  await spin(limit, concurrency, warmMs, isLocal)
  const cpu = process.cpuUsage()
  const { takes, tookMs, refused } = await spin(limit, concurrency, windowMs, isLocal)
  const { user, system } = process.cpuUsage(cpu)
  return { takesPerS: (takes / tookMs) * 1_000, cpuUsPerTake: (user + system) / takes, refused }
}

/**
 * @param {import('../adapter.ts').Limit} limit
 * @param {number} concurrency
 * @param {number} windowMs
 * @param {boolean} isLocal
 */
async function spin(limit, concurrency, windowMs, isLocal) {
  const clock = isLocal ? busyNow : () => performance.now()
  const perLook = isLocal ? TAKES_PER_LOOK : 1
  const started = performance.now()
  const ends = clock() + windowMs
  let takes = 0
  let refused = 0
  await Promise.all(
    Array.from({ length: concurrency }, async (_, task) => {
      let at = task * 37
      while (clock() < ends) {
        for (let i = 0; i < perLook; i++) {
          if (!(await limit.take(/** @type {string} */ (KEYS[at++ % KEYS.length])))) refused++
          takes++
        }
      }
    }),
  )
  return { takes, refused, tookMs: performance.now() - started }
}
