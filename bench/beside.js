/**
 * Two builds of holdfast side by side, in rounds that take turns, so that a busy machine is busy for both:
 *   node bench/beside.js --old DIR/dist/src/index.js --new packages/holdfast/dist/index.js --store URL[,URL]
 *     [--rounds 12] [--ms 700]
 * `SIDE` in a URL becomes old or new, where the two must not share a file. `uncontended` is one caller on a free lock;
 * `contended` is 16 callers of two instances on one lock (of one instance on memory:, which is a store of its own for
 * each). Prints new / old of pairs a second and of CPU a pair, the median with p25 and p75. On a machine that others
 * use only the CPU can be compared.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'

/** @typedef {{ build: string, store: string, side: string, scenario: string }} Task */
/** @typedef {{ rate: number, cpuUs: number }} Figures */

const CALLERS = 16
const WARM_UP = 0.3
const { values } = parseArgs({
  options: {
    old: { type: 'string', default: '' },
    new: { type: 'string', default: 'packages/holdfast/dist/index.js' },
    store: { type: 'string', default: 'memory:' },
    rounds: { type: 'string', default: '12' },
    ms: { type: 'string', default: '700' },
    child: { type: 'string', default: '' },
  },
})
if (values.child === '') await compare()
else console.log(JSON.stringify(await measure(JSON.parse(values.child))))

async function compare() {
  for (const store of values.store.split(',')) {
    for (const scenario of ['uncontended', 'contended']) {
      /** @type {number[]} */
      const rates = []
      /** @type {number[]} */
      const costs = []
      for (let round = 0; round < Number(values.rounds); round++) {
        const [old, next] = await both(store, scenario, round % 2 === 0)
        rates.push(next.rate / old.rate)
        costs.push(next.cpuUs / old.cpuUs)
      }
      console.log(`${store.split(':')[0]}, ${scenario}: pairs/s ${spread(rates)}, CPU a pair ${spread(costs)}`)
    }
  }
}

/**
 * @param {string} store
 * @param {string} scenario
 * @param {boolean} isOldFirst
 * @returns {Promise<[old: Figures, next: Figures]>}
 */
async function both(store, scenario, isOldFirst) {
  const old = { build: values.old, store: store.replace('SIDE', 'old'), side: 'old', scenario }
  const next = { build: values.new, store: store.replace('SIDE', 'new'), side: 'new', scenario }
  const first = await inProcess(isOldFirst ? old : next)
  const second = await inProcess(isOldFirst ? next : old)
  return isOldFirst ? [first, second] : [second, first]
}

/**
 * Each measurement has a process of its own, so that no build warms the other up.
 * @param {Task} job
 * @returns {Promise<Figures>}
 */
async function inProcess(job) {
  const args = [fileURLToPath(import.meta.url), '--ms', values.ms, '--child', JSON.stringify(job)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let out = ''
  child.stdout.on('data', (chunk) => (out += chunk))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${JSON.stringify(job)} ended with ${code}`)
  return JSON.parse(out)
}

/**
 * @param {Task} job
 * @returns {Promise<Figures>}
 */
async function measure({ build, store, side, scenario }) {
  const { holdfast } = await import(pathToFileURL(resolve(build)).href)
  const isContended = scenario === 'contended'
  const count = isContended && store !== 'memory:' ? 2 : 1
  const instances = await Promise.all(Array.from({ length: count }, () => holdfast(store)))
  const locks = instances.map((hf) => hf.mutex(`beside:${side}`))
  const callers = isContended ? CALLERS : 1
  let pairs = 0
  const over = new AbortController()
  const work = Array.from({ length: callers }, async (_, i) => {
    const lock = locks[i % locks.length]
    while (!over.signal.aborted) {
      const hold = await lock.acquire()
      await hold.release()
      pairs++
      // Without this pause nothing else would ever run on the memory store.
      if (pairs % 256 === 0) await new Promise((done) => setImmediate(done))
    }
  })
  await after(Number(values.ms) * WARM_UP)
  const [from, before, cpuBefore] = [performance.now(), pairs, process.cpuUsage()]
  await after(Number(values.ms))
  const { user, system } = process.cpuUsage(cpuBefore)
  const rate = ((pairs - before) / (performance.now() - from)) * 1_000
  const cpuUs = (user + system) / (pairs - before)
  over.abort()
  await Promise.all(work)
  for (const hf of instances) await hf.close()
  return { rate, cpuUs }
}

/** @param {number} ms */
function after(ms) {
  return new Promise((done) => setTimeout(done, ms))
}

/** @param {readonly number[]} numbers */
function spread(numbers) {
  const [low, middle, high] = [0.25, 0.5, 0.75].map((share) => quantile(numbers, share).toFixed(2))
  return `${middle} (${low}–${high})`
}

/**
 * @param {readonly number[]} numbers
 * @param {number} share
 */
function quantile(numbers, share) {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
