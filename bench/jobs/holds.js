/** Many locks held at once, in the child: what it costs to keep them. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { etcdCounts } from '../etcd-metrics.js'

/** @typedef {import('../adapter.ts').Client} Client */

const AT_ONCE = 1_000

/**
 * @param {Client} client
 * @param {{ locks: number, ttlMs: number, etcdUrl: string | null }} params
 * @param {() => number} liveTimers
 */
export async function measure(client, { locks, ttlMs, etcdUrl }, liveTimers) {
  const idleDelayMs = await worstDelayMs(1_000)
  // Names and the list of holds belong to the program, so they are made before the heap is measured.
  const names = Array.from({ length: locks }, (_, i) => `${client.prefix ?? ''}bench:hold:${i}`)
  /** @type {unknown[]} */
  const held = Array.from({ length: locks }, () => null)
  const heapBefore = heapBytes()
  const storeBefore = (await client.storeBytes?.()) ?? Number.NaN
  const timersBefore = liveTimers()
  const startedMs = performance.now()
  const lockOf = client.exact ?? client.lock
  for (let i = 0; i < locks; i += AT_ONCE) {
    const some = names.slice(i, i + AT_ONCE).map((name) => lockOf(name).acquire())
    for (const [k, token] of (await Promise.all(some)).entries()) held[i + k] = token
    // Let renewals run meanwhile: the first of these holds is due before the last one is acquired.
    await sleep(0)
  }
  const tookMs = performance.now() - startedMs
  const storeBPerLock = (((await client.storeBytes?.()) ?? Number.NaN) - storeBefore) / locks
  const timersPerLock = (liveTimers() - timersBefore) / locks

  const before = await client.calls?.()
  const cpu = process.cpuUsage()
  const windowStartedMs = performance.now()
  // A third of a ttl is the longest that a renewal may take to come: each hold has one in this window, or more.
  const windowMs = ttlMs / 3
  const delayMs = await worstDelayMs(windowMs)
  const tookS = (performance.now() - windowStartedMs) / 1_000
  const { user, system } = process.cpuUsage(cpu)
  const after = await client.calls?.()
  const touches = after && before ? after.touches - before.touches : Number.NaN
  const places = after && before ? after.places - before.places : Number.NaN
  const asked =
    etcdUrl === null ? { keepAlives: Number.NaN, requests: Number.NaN } : await askedPerThird(etcdUrl, ttlMs)
  const lost = client.isHeld ? held.filter((token) => !client.isHeld?.(token)).length : Number.NaN
  // At the very end, because to collect so many objects may take longer than a lease.
  const heapBPerLock = (heapBytes() - heapBefore) / locks
  return {
    touchesPerTtl: touches * 3,
    callsPerS: after && before ? (after.total - before.total) / tookS : Number.NaN,
    placesPerTouch: places / touches,
    keepAlivesPerThird: asked.keepAlives,
    requestsPerThird: asked.requests,
    heapBPerLock,
    storeBPerLock,
    timersPerLock,
    delayMs,
    idleDelayMs,
    cpuShare: (user + system) / 1_000 / windowMs,
    acquiredPerS: (locks / tookMs) * 1_000,
    lost,
  }
}

/** The longest time that a due timer had to wait for the event loop. @param {number} windowMs */
async function worstDelayMs(windowMs) {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  // Forget what happened before this window.
  await sleep(10)
  delay.enable()
  await sleep(windowMs)
  delay.disable()
  return delay.max / 1e6
}

/**
 * What etcd is asked in a third of a ttl. Counted from just after a keep-alive: a window that begins anywhere has one
 * more or less in it by chance.
 *
 * @param {string} url
 * @param {number} ttlMs
 */
async function askedPerThird(url, ttlMs) {
  const thirds = 3
  const { keepAlives } = await etcdCounts(url)
  let before = await etcdCounts(url)
  for (const endMs = performance.now() + ttlMs; before.keepAlives === keepAlives && performance.now() < endMs; ) {
    await sleep(50)
    before = await etcdCounts(url)
  }
  await sleep((thirds * ttlMs) / 3)
  const after = await etcdCounts(url)
  return {
    keepAlives: (after.keepAlives - before.keepAlives) / thirds,
    requests: (after.requests - before.requests) / thirds,
  }
}

function heapBytes() {
  globalThis.gc?.()
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}
