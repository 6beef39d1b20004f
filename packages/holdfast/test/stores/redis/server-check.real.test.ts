/** What is wrong with a server is said at the first use, whichever way it was given. */
import { createClient } from '@redis/client'
import { Cluster, Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { redis, type RedisClient, setNx } from '../../../src/stores/redis/index.ts'
import { holdfast, StoreError, StoreUnreachableError } from '../../../src/index.ts'
import { faultProxy } from '../../../../holdfast-lab/src/testbed/proxy.ts'
import { redisAsk } from '../../../../holdfast-lab/src/testbed/redis.ts'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'

let bed: Testbed
let server: Server
const warnings: string[] = []
const onWarning = (warning: Error & { code?: string }): void => {
  if (warning.code === 'HF_EVICTION') warnings.push(warning.message)
}

beforeAll(async () => {
  await requireServers(['redis'])
  bed = await testbed()
  server = await bed.redis({ config: { maxmemory: '200mb', 'maxmemory-policy': 'volatile-lru' } })
  process.on('warning', onWarning)
})

afterAll(async () => {
  process.off('warning', onWarning)
  await bed?.close()
})

interface Given {
  readonly store: string | RedisClient
  end(): void
}

async function nodeRedis(port: number): Promise<Given> {
  const client = createClient({ url: `redis://127.0.0.1:${port}` })
  client.on('error', () => undefined)
  await client.connect()
  return { store: client, end: () => client.destroy() }
}

function ioredis(port: number): Given {
  const client = new Redis(port, '127.0.0.1')
  return { store: client, end: () => client.disconnect() }
}

const WAYS: Record<string, (port: number) => Given | Promise<Given>> = {
  'redis(url)': (port) => ({ store: `redis://127.0.0.1:${port}`, end: () => undefined }),
  'redis(a client of ioredis)': ioredis,
  'redis(a client of @redis/client)': nodeRedis,
}

async function useOnce(store: string | RedisClient): Promise<void> {
  const hf = await holdfast(redis(store))
  try {
    for (let i = 0; i < 3; i++) await (await hf.mutex('line').acquire({ waitMs: 5_000 })).release()
  } finally {
    await hf.close()
  }
}

test.each(Object.entries(WAYS))('%s: a server that evicts is warned of, once', async (_, make) => {
  warnings.length = 0
  const { store, end } = await make(server.port)
  await useOnce(store)
  await expect.poll(() => warnings.length).toBe(1)
  expect(warnings[0]).toContain('volatile-lru')
  end()
})

test('setNx(url), and a URL by itself', async () => {
  warnings.length = 0
  const classic = await holdfast(setNx(server.url))
  await (await classic.mutex('classic').acquire()).release()
  await classic.close()
  await expect.poll(() => warnings.length).toBe(1)
  await (await holdfast(server.url)).close()
  await expect.poll(() => warnings.length).toBe(2)
})

test('a cluster: one node that evicts is enough', async () => {
  const { servers, url } = await bed.cluster()
  const roles = await Promise.all(servers.map(({ port }) => redisAsk(port, '', ['INFO', 'replication'])))
  const ports = servers.map(({ port }) => port).filter((_, i) => roles[i]?.includes('role:master') === true)
  const last = ports.at(-1) ?? 0
  for (const [key, value] of [
    ['maxmemory', '200mb'],
    ['maxmemory-policy', 'allkeys-lru'],
  ] as const) {
    expect(await redisAsk(last, '', ['CONFIG', 'SET', key, value])).toBe('+OK\r\n')
  }
  const client = new Cluster(ports.map((port) => ({ host: '127.0.0.1', port })))
  for (const store of [client, url]) {
    warnings.length = 0
    await useOnce(store)
    await expect.poll(() => warnings.length).toBe(1)
  }
  client.disconnect()
})

test.each(Object.entries(WAYS))('%s: a replica is refused by name, until it is a primary', async (_, make) => {
  const replica = await bed.redis({ replicaof: { port: server.port } })
  const { store, end } = await make(replica.port)
  const hf = await holdfast(redis(store))
  const refused = hf.mutex('line').acquire({ waitMs: 5_000 })
  await expect(refused).rejects.toThrow(new RegExp(`is a replica of 127.0.0.1:${server.port}`))
  await expect(refused).rejects.toBeInstanceOf(StoreError)
  expect(await redisAsk(replica.port, '', ['REPLICAOF', 'NO', 'ONE'])).toBe('+OK\r\n')
  await (await hf.mutex('line').acquire()).release()
  await hf.close()
  end()
})

test('a refusal that was seen before a call is not its own', async () => {
  const replica = await bed.redis({ replicaof: { port: server.port } })
  let refusals = 0
  const translate = (bytes: Buffer): Buffer => {
    if (bytes.includes('role:slave')) refusals++
    return bytes
  }
  const proxy = await faultProxy({ port: replica.port, translate })
  const { store, end } = ioredis(proxy.port)
  const hf = await holdfast(redis(store))
  await expect(hf.mutex('line').acquire()).rejects.toThrow('is a replica')
  // Each answer that says "a replica" is held back until the server is a primary and the second call waits.
  await proxy.set({ toClient: 'hold' })
  const before = refusals
  const early = hf.mutex('early').acquire()
  await expect.poll(() => refusals).toBeGreaterThan(before)
  expect(await redisAsk(replica.port, '', ['REPLICAOF', 'NO', 'ONE'])).toBe('+OK\r\n')
  const late = hf.mutex('late').acquire()
  await proxy.heal()
  await Promise.allSettled([early])
  await (await late).release()
  await hf.close()
  end()
  await proxy.close()
})

test('a server that is not there is unreachable, and is looked at when it comes', async () => {
  const late = await bed.redis()
  await late.kill()
  const hf = await holdfast(redis(late.url, { commandTimeoutMs: 500 }))
  await expect(hf.mutex('line').acquire({ waitMs: 1_000 })).rejects.toBeInstanceOf(StoreUnreachableError)
  await late.restart({ keepData: true })
  await (await hf.mutex('line').acquire()).release()
  await hf.close()
})
