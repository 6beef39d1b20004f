/**
 * A server refuses channels for a while, and connections are lost: once it allows them again waiters are told, over
 * every client.
 */
import { createClient } from '@redis/client'
import { Cluster, Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { redis, type RedisClient } from '../../../src/stores/redis/index.ts'
import { holdfast } from '../../../src/index.ts'
import { redisAsk } from '../../../../holdfast-lab/src/testbed/redis.ts'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'

/** A third of it is longer than any test may take: who is not told waits for its next heartbeat in vain. */
const TTL_MS = 600_000
const LOGIN = { username: 'app', password: 'secret' }

let bed: Testbed

beforeAll(async () => {
  await requireServers(['redis'])
  bed = await testbed()
})

afterAll(() => bed?.close())

type Store = { readonly store: string | RedisClient; end(): void }

function ofIoredis(port: number, options: object = {}): Store {
  const client = new Redis(port, '127.0.0.1', { ...LOGIN, ...options })
  client.on('error', () => undefined)
  return { store: client, end: () => client.disconnect() }
}

async function ofNodeRedis(port: number, reconnectStrategy?: () => number | false): Promise<Store> {
  const socket = { host: '127.0.0.1', port, ...(reconnectStrategy === undefined ? {} : { reconnectStrategy }) }
  const client = createClient({ ...LOGIN, socket })
  client.on('error', () => undefined)
  await client.connect()
  return { store: client, end: () => client.destroy() }
}

const SINGLE: Record<string, (port: number) => Store | Promise<Store>> = {
  'our own connection': (port) => ({ store: `redis://app:secret@127.0.0.1:${port}`, end: () => undefined }),
  ioredis: (port) => ofIoredis(port),
  'ioredis that does not retry': (port) => ofIoredis(port, { retryStrategy: () => null }),
  'ioredis that does not subscribe anew': (port) => ofIoredis(port, { autoResubscribe: false, lazyConnect: true }),
  '@redis/client': (port) => ofNodeRedis(port),
  '@redis/client that does not retry': (port) => ofNodeRedis(port, () => false),
}

/** Says it to all servers; the user may be unknown to some of them. */
async function setUser(ports: readonly number[], ...rules: readonly string[]): Promise<void> {
  for (const port of ports) expect(await redisAsk(port, '', ['ACL', 'SETUSER', 'app', ...rules])).toBe('+OK\r\n')
}

async function refusals(ports: readonly number[]): Promise<number> {
  const said = await Promise.all(ports.map((port) => redisAsk(port, '', ['INFO', 'commandstats'])))
  const counts = said.map((text) => Number(/cmdstat_subscribe:.*rejected_calls=(\d+)/.exec(text)?.[1] ?? 0))
  return counts.reduce((sum, count) => sum + count, 0)
}

async function inboxes(ports: readonly number[]): Promise<number> {
  const code = "return #redis.call('PUBSUB', 'CHANNELS', 'holdfast:inbox:*')"
  const counts = await Promise.all(ports.map((port) => redisAsk(port, '', ['EVAL', code, '0'])))
  return counts.reduce((sum, said) => sum + Number(said.slice(1)), 0)
}

async function isToldAgain(ports: readonly number[], store: string | RedisClient): Promise<void> {
  const hf = await holdfast(redis(store))
  const before = await refusals(ports)
  const options = { ttlMs: TTL_MS, fairness: 'strict' } as const
  const held = await hf.mutex('line', options).acquire()
  const waiting = hf.mutex('line', options).acquire()
  const isWaiting = async (): Promise<boolean> => {
    for await (const line of hf.list()) if (line.waiters.length === 1) return true
    return false
  }
  await expect.poll(isWaiting).toBe(true)
  // Redis itself closes the connections of those who listen where they no longer may.
  await setUser(ports, 'resetchannels')
  await expect.poll(() => inboxes(ports)).toBe(0)
  // Refused more than once: after the first refusal somebody still asks.
  await expect.poll(() => refusals(ports), { timeout: 20_000 }).toBeGreaterThan(before + 1)
  held.assertHeld()
  await setUser(ports, 'allchannels')
  await expect.poll(() => inboxes(ports), { timeout: 20_000 }).toBe(1)
  await held.release()
  await (await waiting).release()
  await hf.close()
}

test.each(Object.entries(SINGLE))('%s', async (_, make) => {
  const { port } = await bed.redis()
  await setUser([port], 'on', '>secret', '~*', '&*', '+@all')
  const { store, end } = await make(port)
  await isToldAgain([port], store)
  end()
})

test('a cluster', async () => {
  const { servers } = await bed.cluster()
  const ports = servers.map(({ port }) => port)
  await setUser(ports, 'on', '>secret', '~*', '&*', '+@all')
  const nodes = ports.map((port) => ({ host: '127.0.0.1', port }))
  const client = new Cluster(nodes, { redisOptions: LOGIN })
  client.on('error', () => undefined)
  await isToldAgain(ports, client)
  client.disconnect()
  await isToldAgain(ports, `redis+cluster://app:secret@${ports.map((port) => `127.0.0.1:${port}`).join(',')}`)
})

test('Sentinel', async () => {
  const { servers, sentinels } = await bed.sentinel()
  const ports = servers.filter((server) => !sentinels.includes(server)).map(({ port }) => port)
  await setUser(ports, 'on', '>secret', '~*', '&*', '+@all')
  const addresses = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')
  await isToldAgain(ports, `redis+sentinel://app:secret@${addresses}/mymaster`)
})
