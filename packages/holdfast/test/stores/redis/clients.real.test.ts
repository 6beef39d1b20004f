/** The user's own clients: used, never closed or changed, and no event of theirs or ours ends the process. */
import type { Socket } from 'node:net'
import { createClient } from '@redis/client'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { redis, type RedisClient } from '../../../src/stores/redis/index.ts'
import { holdfast, StoreUnreachableError, UsageError } from '../../../src/index.ts'
import { redisAsk } from '../../../../holdfast-lab/src/testbed/redis.ts'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'

let bed: Testbed
let server: Server

beforeAll(async () => {
  await requireServers(['redis'])
  bed = await testbed()
  server = await bed.redis()
})

afterAll(() => bed?.close())

interface Client {
  readonly client: RedisClient
  ask(): Promise<string>
  end(): void
}

async function ofIoredis(port: number): Promise<Client> {
  const client = new Redis(port, '127.0.0.1', { keyPrefix: 'app:', stringNumbers: true })
  client.on('error', () => undefined)
  return { client, ask: () => client.ping(), end: () => client.disconnect() }
}

async function ofNodeRedis(port: number): Promise<Client> {
  const client = createClient({ url: `redis://127.0.0.1:${port}` })
  client.on('error', () => undefined)
  await client.connect()
  return { client, ask: () => client.ping(), end: () => client.destroy() }
}

const CLIENTS = { ioredis: ofIoredis, '@redis/client': ofNodeRedis }
const names = Object.keys(CLIENTS) as (keyof typeof CLIENTS)[]

test.each(names)(
  '%s: locks, waits and is told; closing leaves the client open and no connection behind',
  async (name) => {
    const { client, ask, end } = await CLIENTS[name](server.port)
    const connections = async (): Promise<number> =>
      (await redisAsk(server.port, '', ['CLIENT', 'LIST'])).split('\n').filter((line) => line.startsWith('id=')).length
    const before = await connections()
    const hf = await holdfast(redis(client))
    const line = `client-${name}`
    const held = await hf.mutex(line).acquire()
    const waiting = hf.mutex(line, { fairness: 'strict' }).acquire()
    await held.release()
    const next = await waiting
    expect(next.token).toBeGreaterThan(held.token)
    const seen = []
    for await (const view of hf.list({ prefix: line })) seen.push(view.name)
    expect(seen).toEqual([line])
    await next.release()
    const cell = hf.cell<number>(line)
    await cell.update((n) => (n ?? 0) + 1)
    expect((await cell.read()).value).toBe(1)
    await hf.close()
    expect(await ask()).toBe('PONG')
    await expect.poll(connections).toBe(before)
    end()
  },
)

test.each(names)('%s: the server dies and comes back while one waits', async (name) => {
  const mortal = await bed.redis({ appendonly: 'always' })
  const { client, end } = await CLIENTS[name](mortal.port)
  const hf = await holdfast(redis(client, { commandTimeoutMs: 1_000 }))
  const held = await hf.mutex('line', { ttlMs: 30_000 }).acquire()
  const waiting = hf.mutex('line', { ttlMs: 30_000, fairness: 'strict' }).acquire()
  await expect.poll(() => redisAsk(mortal.port, '', ['KEYS', '*:q'])).toContain('*1')
  await mortal.kill()
  await expect(hf.mutex('other', { ttlMs: 900 }).acquire({ waitMs: 3_000 })).rejects.toBeInstanceOf(
    StoreUnreachableError,
  )
  await mortal.restart({ keepData: true })
  await held.release()
  await (await waiting).release()
  await hf.close()
  end()
})

test('what is no client is refused', () => {
  for (const wrong of [undefined, null, 7, {}, [], () => 1]) {
    expect(() => redis(wrong as unknown as RedisClient)).toThrow(UsageError)
  }
})

test('take: a burst, then one at a time, by the server clock', async () => {
  const driver = redis(server.url)
  // One costs 20 s of draining.
  const demand = { cost: 1, burst: 3, unit: 20_000_000, drain: 1, shutAfter: 0, shutMs: 0 }
  expect(await driver.take('bucket', demand)).toMatchObject({ taken: true, left: 2, retryMs: 0, shut: false })
  expect(await driver.take('bucket', { ...demand, cost: 2 })).toMatchObject({ taken: true, left: 0, retryMs: 0 })
  const refused = await driver.take('bucket', demand)
  expect(refused).toMatchObject({ taken: false, left: 0 })
  expect(refused.retryMs).toBeGreaterThan(0)
  expect(refused.retryMs).toBeLessThanOrEqual(20_000)
  const quick = { ...demand, burst: 1, unit: 5_000 }
  expect((await driver.take('quick', quick)).taken).toBe(true)
  await expect.poll(async () => (await driver.take('quick', quick)).taken).toBe(true)
  await driver.close()
})

test('ioredis: what one turn asks leaves in few writes, and the socket is never left corked', async () => {
  const client = new Redis(server.port, '127.0.0.1')
  await client.ping()
  const hf = await holdfast(redis(client))
  await (await hf.mutex('joined').acquire()).release()
  const { stream } = client as unknown as { stream: Socket }
  let corks = 0
  const cork = stream.cork.bind(stream)
  stream.cork = () => {
    corks++
    cork()
  }
  const asked = Array.from({ length: 100 }, (_, i) => hf.mutex(`joined-${i}`).acquire())
  expect(stream.writableCorked).toBe(1)
  // The user's own, given in the same turn, goes with them.
  expect(await client.ping()).toBe('PONG')
  expect(stream.writableCorked).toBe(0)
  expect(corks).toBe(1)
  for (const held of await Promise.all(asked)) expect(await held.release()).toBe(true)
  await hf.close()
  expect(stream.writableCorked).toBe(0)
  client.disconnect()
})
