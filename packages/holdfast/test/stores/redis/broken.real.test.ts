/**
 * A lock that was taken from its holder, while others wait: the next is served when the lease has run out, not before.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { redis } from '../../../src/stores/redis/index.ts'
import { type Entry, isGranted } from '../../../src/contract/driver.ts'
import { system } from '../../../src/system.ts'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'

let bed: Testbed

beforeAll(async () => {
  await requireServers(['redis'])
  bed = await testbed()
})

afterAll(() => bed?.close())

// Of one waiter the release takes the general way, of two and more the short one.
test.each([1, 2, 3])('broken and left before %i waiters: none is let in early, the first one then', async (count) => {
  const server = await bed.redis()
  const driver = redis(server.url)
  const entry = (ttlMs: number): Entry => ({
    line: 'line',
    id: system.randomId(),
    weight: 1,
    capacity: 1,
    ttlMs,
    data: '{}',
  })
  const [holder, ...waiters] = [entry(5_000), ...Array.from({ length: count }, () => entry(600_000))] as [Entry, Entry]
  const askedAt = performance.now()
  for (const one of [holder, ...waiters]) expect(await driver.enter(one, true)).not.toBeNull()
  expect(await driver.break('line', false)).toBe(1)
  for (let i = 0; i < 3; i++) await driver.leave(holder)
  const [first] = waiters
  const isServed = async (): Promise<boolean> => {
    const [place] = await driver.touch([first])
    return place !== null && place !== undefined && isGranted(first, place)
  }
  await expect.poll(isServed, { timeout: 30_000, interval: 50 }).toBe(true)
  // A millisecond for each clock that rounds.
  expect(performance.now() - askedAt).toBeGreaterThan(5_000 - 5)
  await driver.close()
})
