/** A hold that lasts longer than its key was first given: each renewal must carry the key's own expiry along. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { redis } from '../../../src/stores/redis/index.ts'
import { type Holdfast, holdfast } from '../../../src/index.ts'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'

const TTL_MS = 10_000
/** The shortest there is: a key is first kept for the lease and twice this. */
const RETENTION_MS = 1_000

let bed: Testbed
let url: string
const opened: Holdfast[] = []

beforeAll(async () => {
  await requireServers(['redis'])
  bed = await testbed()
  url = (await bed.redis()).url
})

afterAll(async () => {
  for (const hf of opened) await hf.close()
  await bed?.close()
})

async function open(): Promise<Holdfast> {
  const hf = await holdfast(redis(url, { retentionMs: RETENTION_MS }))
  opened.push(hf)
  return hf
}

test('alone, and with one who waits, it is still held after that', async () => {
  const [a, b] = [await open(), await open()]
  const alone = await a.mutex('alone', { ttlMs: TTL_MS }).acquire()
  const wanted = await a.mutex('wanted', { ttlMs: TTL_MS }).acquire()
  const next = b.mutex('wanted', { ttlMs: TTL_MS }).acquire()
  await sleep(TTL_MS + 3.5 * RETENTION_MS)
  expect(await b.mutex('alone').tryAcquire()).toBeNull()
  expect([alone.state, wanted.state]).toEqual(['held', 'held'])
  expect(await alone.release()).toBe(true)
  expect(await wanted.release()).toBe(true)
  expect((await next).token).toBeGreaterThan(wanted.token)
})
