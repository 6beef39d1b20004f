/** How the cost of a lock grows with names, waiters, readers or holds, in the child: microseconds an operation. */
import { setTimeout as sleep } from 'node:timers/promises'

/** @typedef {import('../adapter.ts').Client} Client */
/** @typedef {{ usPerOp: number, cpuUsPerOp: number }} Cost */

const AT_ONCE = 64
const PAIRS = 1_000
/** A figure needs at least so many operations; so ten waiters are made again and again. */
const OPERATIONS = 1_000
/** Runs the measured code until it is compiled. */
const WARM_PAIRS = 1_500

/** @type {unknown[]} */
const held = []
let named = 0

/** @param {Client} client */
export async function warm(client) {
  const isOver = within(3_000)
  await each(WARM_PAIRS, isOver, (i) => pair(lockOf(client, `bench:warm:${i}`)))
}

/** So many names were used once; then pairs on names of the whole range. @param {Client} client @param {Size} params */
export async function names(client, { size, budgetMs }) {
  const isOver = within(budgetMs)
  const from = named
  await each(size - from, isOver, (i) => pair(lockOf(client, `bench:name:${from + i}`)))
  if (isOver()) return null
  named = size
  return cost(PAIRS, () => each(PAIRS, never, (i) => pair(lockOf(client, `bench:name:${(i * 7_919) % size}`))))
}

/** So many ask for one lock at once, and each holds it once. @param {Client} client @param {Size} params */
export function waiters(client, { size, budgetMs }) {
  const lock = client.lock('bench:waiters')
  return crowd(size, budgetMs, async (count) => {
    await Promise.all(Array.from({ length: count }, () => pair(lock)))
  })
}

/** So many read at once. @param {Client} client @param {Size} params */
export async function readers(client, { size, budgetMs }) {
  const lock = client.readLock?.('bench:readers')
  if (lock === undefined) return null
  return crowd(size, budgetMs, async (count) => {
    const all = await Promise.all(Array.from({ length: count }, () => lock.acquire()))
    await Promise.all(all.map(async (token) => lock.release(token)))
  })
}

/** So many locks are held; pairs on other names. @param {Client} client @param {Size} params */
export async function holds(client, { size, budgetMs }) {
  const isOver = within(budgetMs)
  const from = held.length
  await each(size - from, isOver, async (i) => {
    held.push(await lockOf(client, `bench:held:${from + i}`).acquire())
  })
  if (isOver()) return null
  // Collect the garbage before anything is timed.
  globalThis.gc?.()
  await sleep(100)
  const figures = await cost(PAIRS, () => each(PAIRS, never, (i) => pair(lockOf(client, `bench:beside:${i}`))))
  return { ...figures, lost: client.isHeld ? held.filter((token) => !client.isHeld?.(token)).length : Number.NaN }
}

/** @typedef {{ size: number, budgetMs: number }} Size */

/**
 * @param {number} size
 * @param {number} budgetMs
 * @param {(count: number) => Promise<void>} run
 */
async function crowd(size, budgetMs, run) {
  const isOver = within(budgetMs)
  await run(Math.min(size, 100))
  const times = Math.ceil(OPERATIONS / size)
  const figures = await cost(times * size, async () => {
    for (let i = 0; i < times; i++) await run(size)
  })
  return isOver() && size > 10 ? null : figures
}

/** @param {number} operations @param {() => Promise<void>} work @returns {Promise<Cost>} */
async function cost(operations, work) {
  const cpu = process.cpuUsage()
  const from = performance.now()
  await work()
  const tookMs = performance.now() - from
  const { user, system } = process.cpuUsage(cpu)
  return { usPerOp: (tookMs * 1_000) / operations, cpuUsPerOp: (user + system) / operations }
}

/**
 * A number of tasks share the work.
 *
 * @param {number} count
 * @param {() => boolean} isOver
 * @param {(i: number) => Promise<void>} work
 */
async function each(count, isOver, work) {
  let next = 0
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (next < count && !isOver()) {
        const i = next++
        await work(i)
        // Without this pause nothing else would ever run on the memory store, and the holds would lapse.
        if (i % 4_096 === 0) await sleep(0)
      }
    }),
  )
}

/** @param {import('../adapter.ts').Lock} lock */
async function pair(lock) {
  await lock.release(await lock.acquire())
}

/** @param {Client} client @param {string} key */
function lockOf(client, key) {
  return client.fresh?.(key) ?? client.lock(key)
}

/** @param {number} ms */
function within(ms) {
  const until = performance.now() + ms
  return () => performance.now() > until
}

const never = () => false
