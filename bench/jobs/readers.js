/**
 * Many read locks of one process on one line, in the child: how soon all are held, and what a lock on another name
 * takes before, meanwhile, beside.
 */
import { quantile } from '../stats.js'

/** @typedef {import('../adapter.ts').Client} Client */
/** @typedef {import('../adapter.ts').Lock} Lock */

const PAIRS = 100

/** @param {Client} client @param {{ readers: number }} params */
export async function measure(client, { readers }) {
  const other = client.lock('bench:other')
  await pairs(other, PAIRS)
  const before = await pairs(other, PAIRS)
  const lock = client.readLock?.('bench:read')
  if (lock === undefined) throw new Error('this adapter has no read locks')
  await lock.release(await lock.acquire())

  const entry = { isOver: false }
  const startedMs = performance.now()
  const entering = Promise.all(Array.from({ length: readers }, () => lock.acquire())).then((held) => {
    entry.isOver = true
    return { held, tookMs: performance.now() - startedMs }
  })
  /** @type {number[]} */
  const meanwhile = []
  do meanwhile.push(...(await pairs(other, 1)))
  while (!entry.isOver)
  const { held, tookMs } = await entering

  const beside = await pairs(other, PAIRS)
  const lost = client.isHeld ? held.filter((token) => !client.isHeld?.(token)).length : Number.NaN
  const releasedFromMs = performance.now()
  await Promise.all(held.map(async (token) => lock.release(token)))
  return {
    heldMs: tookMs,
    releasedMs: performance.now() - releasedFromMs,
    otherBeforeMs: median(before),
    otherMeanwhileMs: Math.max(...meanwhile),
    otherBesideMs: median(beside),
    otherRatio: median(beside) / median(before),
    lost,
  }
}

/** How long each took. @param {Lock} lock @param {number} count */
async function pairs(lock, count) {
  const tookMs = []
  for (let i = 0; i < count; i++) {
    const at = performance.now()
    const token = await lock.acquire()
    await lock.release(token)
    tookMs.push(performance.now() - at)
  }
  return tookMs
}

/** @param {readonly number[]} all */
function median(all) {
  return quantile(Float64Array.from(all), 0.5)
}
