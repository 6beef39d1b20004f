/** Clients of older versions: a line works over them as over the newest, and closing leaves them to their owner. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type IoredisClient, type NodeRedisClient, redis, type RedisClient } from '../../../src/stores/redis/index.ts'
import { holdfast, UsageError } from '../../../src/index.ts'
import { redisAsk } from '../../../../holdfast-lab/src/testbed/redis.ts'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'

/** A third of it is longer than any test may take: who is not told waits for its next heartbeat in vain. */
const TTL_MS = 600_000

interface Made {
  readonly client: RedisClient
  ping(): Promise<string>
  end(): unknown
}

type Foreign = (IoredisClient | NodeRedisClient) & {
  ping(): Promise<string>
  connect(): Promise<unknown>
  disconnect(): unknown
  unref(): void
}

/** Not imported by name: their types differ, and only what users do with them counts here. */
async function make(name: string, url: string, options: object = {}): Promise<Made> {
  const module = (await import(name)) as Record<string, unknown>
  if (name.startsWith('ioredis')) {
    const Redis = (module.Redis ?? module.default) as new (url: string, options: object) => Foreign
    const client = new Redis(url, options)
    return { client, ping: () => client.ping(), end: () => client.disconnect() }
  }
  const client = (module.createClient as (options: object) => Foreign)({ url, ...options })
  client.on('error', () => undefined)
  await client.connect()
  return { client, ping: () => client.ping(), end: () => client.disconnect() }
}

let bed: Testbed
let server: Server

beforeAll(async () => {
  await requireServers(['redis'])
  bed = await testbed()
  server = await bed.redis()
})

afterAll(() => bed?.close())

test.each([
  ['ioredis4', {}],
  ['ioredis4', { enableAutoPipelining: true }],
  ['ioredis5', {}],
  ['ioredis5', { enableAutoPipelining: true }],
  ['redis4', {}],
  ['redis5', {}],
])('%s, %o', async (name, options) => {
  await useBoth(name, options)
})

async function useBoth(name: string, given: object): Promise<void> {
  const [one, two] = await Promise.all([make(name, server.url, given), make(name, server.url, given)])
  const connections = async (): Promise<number> =>
    (await redisAsk(server.port, '', ['CLIENT', 'LIST'])).split('\n').filter((line) => line.startsWith('id=')).length
  const before = await connections()
  const [a, b] = [await holdfast(redis(one.client)), await holdfast(redis(two.client))]
  const options = { ttlMs: TTL_MS, fairness: 'strict' } as const
  const held = await a.mutex(name, options).acquire()
  const waiting = [a, b, b].map((hf) => hf.mutex(name, options).using(async (next) => next.token))
  await expect.poll(async () => (await waitersOf(a, name)) ?? 0).toBe(3)
  await held.release()
  for (const token of await Promise.all(waiting)) expect(token).toBeGreaterThan(held.token)
  const upgradeable = await a.rwLock(`${name}-rw`, options).upgrade.acquire()
  const reader = await b.rwLock(`${name}-rw`, options).read.acquire()
  const writing = upgradeable.upgrade()
  await reader.release()
  await (await writing).release()
  await upgradeable.release()
  const cell = a.cell<string>(name)
  await cell.update(() => 'väl')
  expect((await b.cell<string>(name).read()).value).toBe('väl')
  await Promise.all([a.close(), b.close()])
  expect(await one.ping()).toBe('PONG')
  await expect.poll(connections).toBe(before)
  await Promise.all([one.end(), two.end()])
}

async function waitersOf(hf: Awaited<ReturnType<typeof holdfast>>, name: string): Promise<number | null> {
  for await (const line of hf.list({ prefix: name })) if (line.name === name) return line.waiters.length
  return null
}

test('redis 4 in legacy mode answers by callbacks, and is refused', async () => {
  const { client, end } = await make('redis4', server.url, { legacyMode: true })
  expect(() => redis(client)).toThrow(UsageError)
  await end()
})
