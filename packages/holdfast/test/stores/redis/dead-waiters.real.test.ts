/**
 * Waiters whose process has died, behind one that lives: they take little memory, and no call of the server is long for
 * them.
 */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { redis, type RedisDriver } from '../../../src/stores/redis/index.ts'
import { LEAVE } from '../../../src/stores/redis/scripts.generated.ts'
import { type Entry, isGranted } from '../../../src/contract/driver.ts'
import { system } from '../../../src/system.ts'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'

const LONG_MS = 600_000
/** So many may go in one call; see lua/line.lua. */
const REMOVED_PER_CALL = 200

let bed: Testbed
let server: Server
let client: Redis
let driver: RedisDriver

beforeAll(async () => {
  await requireServers(['redis'])
  bed = await testbed()
  server = await bed.redis()
  client = new Redis(server.port, '127.0.0.1')
  driver = redis(server.url)
})

afterAll(async () => {
  await driver?.close()
  client?.disconnect()
  await bed?.close()
})

function entry(line: string, ttlMs: number, capacity = 1, weight = 1): Entry {
  return { line, id: system.randomId(), weight, capacity, ttlMs, data: '{}' }
}

async function enter(...entries: readonly Entry[]): Promise<void> {
  for (const place of await Promise.all(entries.map((one) => driver.enter(one, true)))) expect(place).not.toBeNull()
}

/** Places of the line besides the first one: each has two fields. */
async function queued(line: string): Promise<number> {
  return (await client.hlen(`holdfast:{${line}}:q`)) / 2
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms))

test.each([
  ['of a mutex', 1, 1],
  ['of a read lock, behind a writer', 1_000_000, 1],
])('10 000 waiters %s come and die behind one that lives: few are kept', async (what, capacity, weight) => {
  const [holder, living] = [entry(what, LONG_MS, capacity, capacity), entry(what, LONG_MS, capacity, capacity)]
  await enter(holder)
  await enter(living)
  let most = 0
  for (let i = 0; i < 40; i++) {
    await enter(...Array.from({ length: 250 }, () => entry(what, 50, capacity, weight)))
    // Each round outlives the one before.
    await pause(60)
    most = Math.max(most, await queued(what))
  }
  expect(most).toBeLessThan(2_000)
  await driver.leave(holder)
  const [place] = await driver.touch([living])
  expect(place && isGranted(living, place)).toBe(true)
  await driver.leave(living)
})

test('2 000 waiters die at once: a release takes out so many at a time, and the next living one is told', async () => {
  const line = 'host'
  const [holder, last] = [entry(line, LONG_MS), entry(line, LONG_MS)]
  await enter(holder)
  await enter(...Array.from({ length: 2_000 }, () => entry(line, 6_000)))
  let granted = false
  const stop = await driver.watch(line, last.id, (push) => {
    granted ||= push?.id === last.id
  })
  await enter(last)
  await pause(6_100)
  const before = await queued(line)
  expect(before).toBeGreaterThan(1_000)

  const keys = [`holdfast:{${line}}`, `holdfast:{${line}}:q`]
  // By hand, once, as the driver would.
  expect(await client.eval(LEAVE, 2, ...keys, 60_000, LONG_MS, '', `0${holder.id}`)).toBe(2)
  const after = await queued(line)
  expect(after).toBeGreaterThanOrEqual(before - REMOVED_PER_CALL - 1)
  expect(after).toBeLessThan(before)
  expect(granted).toBe(false)
  await driver.leave(holder)
  await expect.poll(() => granted).toBe(true)
  // The place is in the string now; what is left are the graves of the id that left twice.
  expect(await queued(line)).toBeLessThan(5)
  stop()
  const [place] = await driver.touch([last])
  expect(place && isGranted(last, place)).toBe(true)
  await driver.leave(last)
})

test('2 000 readers die at once: a writer that asks is served after a few calls, none of them long', async () => {
  const line = 'readers'
  const capacity = 1_000_000
  await enter(...Array.from({ length: 2_000 }, () => entry(line, 6_000, capacity)))
  const writer = entry(line, LONG_MS, capacity, capacity)
  await pause(6_100)
  expect(await queued(line)).toBeGreaterThan(1_000)
  let calls = 0
  for (let isServed = false; !isServed; calls++) {
    const before = await queued(line)
    const place = await driver.enter(writer, true)
    expect(before - (await queued(line))).toBeLessThanOrEqual(REMOVED_PER_CALL + 1)
    expect(place).not.toBeNull()
    isServed = place !== null && isGranted(writer, place)
    // Who is not served is told to ask again, not to wait for a heartbeat.
    if (!isServed) expect(place?.recheckMs).toBe(0)
  }
  expect(calls).toBeGreaterThan(5)
  await driver.leave(writer)
})
