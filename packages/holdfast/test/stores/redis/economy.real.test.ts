/** What locks cost the server, by its own count, and what they leave behind. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { redis } from '../../../src/stores/redis/index.ts'
import { type Holdfast, holdfast } from '../../../src/index.ts'
import { redisAsk } from '../../../../holdfast-lab/src/testbed/redis.ts'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'

/** No heartbeat comes while a case runs. */
const TTL_MS = 600_000

let bed: Testbed
let server: Server
const open: Holdfast[] = []

beforeAll(async () => {
  await requireServers(['redis'])
  bed = await testbed()
  server = await bed.redis()
})

afterAll(async () => {
  for (const hf of open) await hf.close()
  await bed?.close()
})

async function on(store: Parameters<typeof holdfast>[0]): Promise<Holdfast> {
  const hf = await holdfast(store)
  open.push(hf)
  // The subscription and the scripts are there from then on.
  await (await hf.mutex('warm').acquire()).release()
  return hf
}

const ask = (...command: string[]): Promise<string> => redisAsk(server.port, '', command)

/** How often each command was run, inside scripts as well, since the count was last asked to begin. */
async function counts(): Promise<Map<string, number>> {
  const said = await ask('INFO', 'commandstats')
  return new Map(
    [...said.matchAll(/cmdstat_([^:]+):calls=(\d+)/g)].map(([, name = '', calls]) => [name, Number(calls)]),
  )
}

async function crowd(hf: Holdfast, name: string): Promise<number> {
  for await (const line of hf.list({ prefix: name })) return line.holders.length + line.waiters.length
  return 0
}

test('uncontended: one command to enter, one to leave, two reads and two writes inside', async () => {
  const hf = await on(server.url)
  const lock = hf.mutex('alone', { ttlMs: TTL_MS })
  await (await lock.acquire()).release()
  await ask('CONFIG', 'RESETSTAT')
  for (let i = 0; i < 50; i++) await (await lock.acquire()).release()
  const ran = await counts()
  for (const name of ['evalsha', 'get', 'set']) expect([name, ran.get(name)]).toEqual([name, 100])
  expect(ran.get('publish') ?? 0).toBe(0)
})

test('uncontended, many at once: what one turn asks of a hundred lines is a few commands', async () => {
  const hf = await on(server.url)
  const locks = Array.from({ length: 100 }, (_, i) => hf.mutex(`many:${i}`, { ttlMs: TTL_MS }))
  await ask('CONFIG', 'RESETSTAT')
  const held = await Promise.all(locks.map((lock) => lock.acquire()))
  await Promise.all(held.map((hold) => hold.release()))
  const ran = await counts()
  for (const name of ['get', 'set']) expect([name, ran.get(name)]).toEqual([name, 200])
  expect(ran.get('evalsha')).toBeLessThanOrEqual(20)
})

test('contended: two commands and one message for each section, however many wait', async () => {
  const [a, b] = [await on(server.url), await on(server.url)]
  const waiters = 1_000
  const gate = await a.mutex('crowded', { ttlMs: TTL_MS }).acquire()
  await ask('CONFIG', 'RESETSTAT')
  let inside = 0
  const work = Array.from({ length: waiters }, async (_, i) => {
    const lock = (i % 2 === 0 ? a : b).mutex('crowded', { fairness: 'strict', ttlMs: TTL_MS })
    const held = await lock.acquire()
    expect(++inside).toBe(1)
    inside--
    await held.release()
    return held.token
  })
  // Each that waits is written once, though many of them came with one script.
  const entered = async (): Promise<number> => (await counts()).get('hset') ?? 0
  await expect.poll(entered, { timeout: 30_000 }).toBe(waiters)
  await gate.release()
  const tokens = await Promise.all(work)
  expect(new Set(tokens).size).toBe(waiters)
  const ran = await counts()
  expect(ran.get('evalsha')).toBeLessThanOrEqual(2.1 * waiters)
  expect(ran.get('publish')).toBe(waiters)
})

test('a released line is gone when its retention is over, whatever happened in it', async () => {
  const retentionMs = 1_000
  const [a, b] = [
    await on(redis(server.url, { prefix: 'gone', retentionMs })),
    await on(redis(server.url, { prefix: 'gone', retentionMs })),
  ]
  const held = await a.mutex('left', { ttlMs: 60_000 }).acquire()
  const waiting = b.mutex('left', { ttlMs: 60_000 }).acquire()
  const giveUp = new AbortController()
  const givenUp = b.mutex('left', { ttlMs: 60_000, fairness: 'strict' }).acquire({ signal: giveUp.signal })
  await expect.poll(() => crowd(a, 'left')).toBe(3)
  giveUp.abort(new Error('enough'))
  await expect(givenUp).rejects.toThrow('enough')
  await held.release()
  await (await waiting).release()
  const readers = await Promise.all([a, b].map((hf) => hf.rwLock('shared', { ttlMs: 60_000 }).read.acquire()))
  for (const reader of readers) await reader.release()
  const keys = async (): Promise<string> => ask('EVAL', "return #redis.call('KEYS', 'gone:*')", '0')
  expect(await keys()).not.toBe(':0\r\n')
  await expect.poll(keys, { timeout: 20_000 }).toBe(':0\r\n')
})
