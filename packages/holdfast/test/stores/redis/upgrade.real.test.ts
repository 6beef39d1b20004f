/** A read lock that becomes a write lock: who waits to write is told by the store, over every client. */
import { createClient } from '@redis/client'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { redis, setNx } from '../../../src/stores/redis/index.ts'
import { holdfast, type Holdfast, UnsupportedError } from '../../../src/index.ts'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'

/** A third of it is longer than any test may take: who is not told waits for its next heartbeat in vain. */
const TTL_MS = 600_000

let bed: Testbed
let server: Server

beforeAll(async () => {
  await requireServers(['redis'])
  bed = await testbed()
  server = await bed.redis()
})

afterAll(() => bed?.close())

async function overNodeRedis(): Promise<Holdfast> {
  const client = createClient({ url: server.url })
  client.on('error', () => undefined)
  await client.connect()
  client.unref()
  return holdfast(redis(client))
}

const CLIENTS: Record<string, () => Promise<Holdfast>> = {
  'our own connection': () => holdfast(server.url),
  ioredis: () => holdfast(redis(new Redis(server.port, '127.0.0.1'))),
  '@redis/client': overNodeRedis,
}

test.each(Object.keys(CLIENTS))(
  'over %s: the last reader goes, in front or behind, and the writer is told',
  async (name) => {
    const [a, b] = [await CLIENTS[name]?.(), await holdfast(server.url)] as [Holdfast, Holdfast]
    const lock = `line-${name}`
    const options = { ttlMs: TTL_MS }
    const front = await b.rwLock(lock, options).read.acquire()
    const held = await a.rwLock(lock, options).upgrade.acquire()
    const behind = await b.rwLock(lock, options).read.acquire()
    const writing = held.upgrade()
    const isRaised = async (): Promise<boolean> => {
      const reader = await b.rwLock(lock, options).read.tryAcquire()
      await reader?.release()
      return reader === null
    }
    await expect.poll(isRaised).toBe(true)
    await behind.release()
    await front.release()
    const write = await writing
    write.assertHeld()
    const reading = b.rwLock(lock, options).read.acquire()
    await write.release()
    await (await reading).release()
    await held.release()
    await Promise.all([a.close(), b.close()])
  },
)

test('the last reader dies: the writer is served when its lease has run out', async () => {
  const [a, driver] = [await holdfast(server.url), redis(server.url)]
  const held = await a.rwLock('dead', { ttlMs: TTL_MS }).upgrade.acquire()
  const reader = { line: 'dead', id: 'f'.repeat(32), weight: 1, capacity: 1_000_000, ttlMs: 2_000, data: '{}' }
  expect(await driver.enter(reader, true)).not.toBeNull()
  await (await held.upgrade()).release()
  await held.release()
  await a.close()
  await driver.close()
})

test('on set-nx, which keeps no order, an upgrade is refused', async () => {
  const hf = await holdfast(setNx(server.url))
  await expect((async () => (await hf.rwLock('line').upgrade.acquire()).upgrade())()).rejects.toBeInstanceOf(
    UnsupportedError,
  )
  await hf.close()
})
