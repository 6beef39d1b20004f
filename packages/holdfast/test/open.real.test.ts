/**
 * `holdfast(client)`: the client that somebody has already, as it is. The result is that of the store's own factory.
 */
import { createClient, createClientPool, createCluster, createSentinel } from '@redis/client'
import { Cluster, Redis } from 'ioredis'
import mysql2 from 'mysql2'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import postgresJs from 'postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { requireServers } from '../../holdfast-lab/src/testbed/require.ts'
import { type Testbed, testbed } from '../../holdfast-lab/src/testbed/testbed.ts'
import { type Driver, type Holdfast, holdfast, type StoreClient } from '../src/index.ts'
import { mysql } from '../src/stores/mysql/index.ts'
import { postgres } from '../src/stores/postgres/index.ts'
import { redis } from '../src/stores/redis/index.ts'

let bed: Testbed

beforeAll(async () => {
  await requireServers(['redis', 'postgres', 'mariadb'])
  bed = await testbed()
})

afterAll(() => bed?.close())

/** Whoever waits is told: the next look by itself would come after the test's end. */
const LOCK = { ttlMs: 600_000, fairness: 'strict' } as const

interface Given {
  readonly client: StoreClient
  readonly factory: Driver
  end(): unknown
}

async function locksOver({ client, factory, end }: Given): Promise<void> {
  const [mine, made] = [await holdfast(client), await holdfast(factory)]
  await mine.setup()
  expect(mine.traits).toEqual(made.traits)
  const held = await mine.mutex('stock', LOCK).acquire()
  expect(await made.mutex('stock', LOCK).tryAcquire()).toBeNull()
  const next = made.mutex('stock', LOCK).using(async ({ token }) => token)
  await expect.poll(() => waitersOf(mine)).toBe(1)
  await held.release()
  expect(await next).toBeGreaterThan(held.token)
  await mine.cell<string>('what').update(() => 'väl')
  expect((await made.cell<string>('what').read()).value).toBe('väl')
  await Promise.all([mine.close(), made.close()])
  // Closing an instance leaves the client to its owner: it can be used again.
  const again = await holdfast(client)
  await (await again.mutex('stock', LOCK).acquire()).release()
  await again.close()
  await end()
}

async function waitersOf(hf: Holdfast): Promise<number> {
  for await (const line of hf.list({ prefix: 'stock' })) return line.waiters.length
  return 0
}

function overRedis(client: StoreClient, end: () => unknown): Given {
  return { client, factory: redis(client as Redis), end }
}

function quiet<T extends { on(event: 'error', listener: () => void): unknown }>(client: T): T {
  client.on('error', () => undefined)
  return client
}

const hostsOf = (servers: readonly { readonly port: number }[]): { host: string; port: number }[] =>
  servers.map(({ port }) => ({ host: '127.0.0.1', port }))

test.each<[string, () => Promise<Given>]>([
  [
    'ioredis',
    async () => {
      const client = new Redis((await bed.redis()).url)
      return overRedis(client, () => client.disconnect())
    },
  ],
  [
    'redis',
    async () => {
      const client = quiet(createClient({ url: (await bed.redis()).url }))
      await client.connect()
      return overRedis(client, () => client.destroy())
    },
  ],
  [
    'a pool of redis',
    async () => {
      const client = quiet(createClientPool({ url: (await bed.redis()).url }))
      await client.connect()
      return overRedis(client, () => client.destroy())
    },
  ],
  [
    'an ioredis Cluster',
    async () => {
      const { servers } = await bed.cluster()
      const client = new Cluster(hostsOf(servers))
      return overRedis(client, () => client.disconnect())
    },
  ],
  [
    'a cluster of redis',
    async () => {
      const { servers } = await bed.cluster()
      const client = quiet(createCluster({ rootNodes: hostsOf(servers).map((socket) => ({ socket })) }))
      await client.connect()
      return overRedis(client, () => client.destroy())
    },
  ],
  [
    'sentinels of redis',
    async () => {
      const { sentinels } = await bed.sentinel()
      const client = quiet(createSentinel({ name: 'mymaster', sentinelRootNodes: hostsOf(sentinels) }))
      await client.connect()
      return overRedis(client, () => client.destroy())
    },
  ],
  [
    'a pg Pool',
    async () => {
      const client = new Pool({ connectionString: (await bed.postgres()).url })
      // A connection may still be closing when the server is stopped.
      client.on('error', () => {})
      return { client, factory: postgres(client), end: () => client.end() }
    },
  ],
  [
    'a postgres sql object',
    async () => {
      const client = postgresJs((await bed.postgres()).url, { onnotice: () => undefined })
      return { client, factory: postgres(client), end: () => client.end() }
    },
  ],
  [
    'a mysql2 pool',
    async () => {
      const client = mysql2.createPool({ uri: (await bed.mariadb()).url })
      return { client, factory: mysql(client), end: () => client.promise().end() }
    },
  ],
  [
    'a pool of mysql2/promise',
    async () => {
      const client = createPool({ uri: (await bed.mariadb()).url })
      return { client, factory: mysql(client), end: () => client.end() }
    },
  ],
])('%s', async (_, make) => {
  await locksOver(await make())
})

test('a prefix is the one that the factory would take', async () => {
  const client = new Redis((await bed.redis()).url)
  const [a, b] = [await holdfast(client, { prefix: 'mine' }), await holdfast(redis(client, { prefix: 'mine' }))]
  await a.mutex('stock').using(async () => expect(await b.mutex('stock').tryAcquire()).toBeNull())
  await Promise.all([a.close(), b.close()])
  client.disconnect()
})
