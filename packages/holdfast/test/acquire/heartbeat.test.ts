/** One heartbeat for all places of a process. */
import { expect, test } from 'vitest'
import type { Handle } from '../../src/hold/handle.ts'
import type { Lease } from '../../src/acquire/lease.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { type Held, holdfast, StoreUnreachableError } from '../../src/index.ts'
import { ManualRuntime } from '../manual-runtime.ts'

test('100 000 holds cost no timer of their own and renew in as few calls as there are batches', async () => {
  const runtime = new ManualRuntime()
  const driver = memory({ runtime })
  const sizes: number[] = []
  const touch = driver.touch.bind(driver)
  driver.touch = (entries) => {
    sizes.push(entries.length)
    return touch(entries)
  }
  const hf = await holdfast(driver, { runtime, ttlMs: 30_000 })
  const holds = await Promise.all(Array.from({ length: 100_000 }, (_, i) => hf.mutex(`line ${i}`).acquire()))
  expect(runtime.timersSet).toBeLessThan(5)
  await runtime.pass(10_500)
  expect(sizes.length).toBe(200)
  expect(sizes.every((size) => size === 500)).toBe(true)
  // No turn of the event loop sends more than a few batches.
  expect(runtime.timersSet).toBeGreaterThan(50)
  await runtime.pass(40_000)
  expect(holds.every((held) => held.state === 'held')).toBe(true)
  await hf.close()
})

test('holds outlive a short silence of the store, and to ask for them again costs no search through all', async () => {
  const runtime = new ManualRuntime()
  const driver = memory({ runtime })
  const touch = driver.touch.bind(driver)
  const [groups, size] = [8, 500]
  let failures = groups
  driver.touch = (entries) => {
    if (failures-- > 0) return Promise.reject(new StoreUnreachableError('no answer'))
    return touch(entries)
  }
  const hf = await holdfast(driver, { runtime, ttlMs: 30_000 })
  const holds: Held[] = []
  let reads = 0
  for (let i = 0; i < groups; i++) {
    const some = Array.from({ length: size }, (_, k) => hf.mutex(`line ${i} ${k}`).acquire())
    for (const held of await Promise.all(some)) {
      holds.push(held)
      countReads((held as Handle).hold.lease, () => void reads++)
    }
    runtime.sleep(1)
  }
  await runtime.pass(25_000)
  expect(failures).toBeLessThan(0)
  // Searched for from the end, each is compared with half of the others: with a million that took minutes.
  expect(reads / holds.length).toBeLessThan(100)
  await runtime.pass(10_000)
  expect(holds.filter((held) => held.state !== 'held')).toEqual([])
  await hf.close()
})

/** What orders the leases, and how often it is looked at. */
function countReads(lease: Lease, read: () => void): void {
  let sinceMs = lease.sinceMonoMs
  Object.defineProperty(lease, 'sinceMonoMs', {
    get: () => {
      read()
      return sinceMs
    },
    set: (ms: number) => {
      sinceMs = ms
    },
  })
}

test('a store that says nothing puts its holders at risk before their leases are over', async () => {
  const runtime = new ManualRuntime()
  const driver = memory({ runtime })
  const touch = driver.touch.bind(driver)
  const answers: (() => void)[] = []
  driver.touch = async (entries) => {
    await new Promise<void>((resolve) => void answers.push(resolve))
    return touch(entries)
  }
  const hf = await holdfast(driver, { runtime, ttlMs: 1_500 })
  const states: string[] = []
  const held = await hf.mutex('silent', { onState: (state) => void states.push(state) }).acquire()
  const beside = await hf.mutex('beside').acquire()
  const long = await hf.mutex('long', { ttlMs: 60_000 }).acquire()
  // Asked for in one request, the longer one first: each is at risk in its own time.
  for (const one of [long, held]) (one as Handle).hold.woke(undefined)
  await runtime.pass(900)
  expect([held.state, beside.state]).toEqual(['held', 'held'])
  await runtime.pass(200)
  expect([held.state, beside.state, long.state]).toEqual(['at-risk', 'at-risk', 'held'])
  for (const answer of answers) answer()
  await runtime.settle()
  expect([held.state, beside.state]).toEqual(['held', 'held'])
  await runtime.pass(1_600)
  expect(states).toEqual(['held', 'at-risk', 'held', 'at-risk', 'lost'])
  await hf.close()
})

test('leases of different lengths are each renewed in their own time, and lost in their own time', async () => {
  const runtime = new ManualRuntime()
  const driver = memory({ runtime })
  const hf = await holdfast(driver, { runtime })
  const brief = await hf.mutex('brief', { ttlMs: 300 }).acquire()
  const long = await hf.mutex('long', { ttlMs: 60_000 }).acquire()
  const fixed = await hf.mutex('fixed', { ttlMs: 1_000, renew: false }).acquire()
  await runtime.pass(900)
  expect([brief.state, long.state, fixed.state]).toEqual(['held', 'held', 'held'])
  await runtime.pass(100)
  expect([brief.state, long.state, fixed.state]).toEqual(['held', 'held', 'lost'])
  await hf.close()
})
