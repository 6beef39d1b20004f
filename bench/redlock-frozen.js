/**
 * `node bench/redlock-frozen.js [rounds]`: Redlock on five servers of its own: how long an acquisition takes with all
 * alive and with two of them frozen (SIGSTOP), turn by turn. Frozen servers are two others in every round, and stay so
 * for longer than it takes to give up on their answers.
 */
import { initRedlock } from '../packages/holdfast/build/src/stores/redlock/index.js'
import { holdfast } from '../packages/holdfast/build/src/index.js'
import { testbed } from '../packages/holdfast-lab/dist/src/testbed/testbed.js'
import { quantile, spread } from './stats.js'

const ROUNDS = Number(process.argv[2] ?? 9)
const WINDOW_MS = 1_500
/** Wait until the thawed servers answer again, because the next round needs one of them. */
const RECOVERY_MS = 1_500
const bed = await testbed()
try {
  const { url, servers } = await bed.redlock(5)
  await initRedlock(url)
  const hf = await holdfast(url)
  const mutex = hf.mutex('bench')

  /** @returns {Promise<number[]>} what each acquisition took, ms */
  const acquisitions = async () => {
    /** @type {number[]} */
    const times = []
    for (const until = performance.now() + WINDOW_MS; performance.now() < until; ) {
      const started = performance.now()
      const held = await mutex.acquire()
      times.push(performance.now() - started)
      await held.release()
    }
    return times
  }

  await acquisitions()
  /** @type {number[]} */
  const ratios = []
  for (let round = 0; round < ROUNDS; round++) {
    const alive = await acquisitions()
    const frozen = [servers[round % 5], servers[(round + 1) % 5]]
    for (const server of frozen) server?.pause()
    const fewer = await acquisitions()
    for (const server of frozen) server?.resume()
    await new Promise((resolve) => setTimeout(resolve, RECOVERY_MS))
    ratios.push(quantile(fewer, 0.5) / quantile(alive, 0.5))
    const told = [alive, fewer].map((times) => [0.5, 0.99, 1].map((q) => quantile(times, q).toFixed(2)).join(' / '))
    console.log(`round ${round + 1}: acquire p50 / p99 / longest ms: all alive ${told[0]}; two frozen ${told[1]}`)
  }
  const { median, p25, p75 } = spread(ratios)
  console.log(
    `p50 with two of five frozen, of that with all alive: ${median.toFixed(2)} (${p25.toFixed(2)}-${p75.toFixed(2)})`,
  )
  await hf.close()
} finally {
  await bed.close()
}
