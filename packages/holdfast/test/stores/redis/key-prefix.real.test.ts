/** An ioredis client with a `keyPrefix` of its user's: whatever is in it, waiters are told, and lines are seen. */
import { Cluster, Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { redis, type RedisClient } from '../../../src/stores/redis/index.ts'
import { holdfast, type Holdfast, UsageError } from '../../../src/index.ts'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'

/** A third of it is longer than any test may take: who is not told waits for its next heartbeat in vain. */
const TTL_MS = 600_000
const PREFIXES = ['{app}:', 'a{b', 'x{}y:', 'glob*[?]-^\\:', '锁{*}:', 'two{a}{b}:%']

let bed: Testbed
let server: Server

beforeAll(async () => {
  await requireServers(['redis'])
  bed = await testbed()
  server = await bed.redis()
})

afterAll(() => bed?.close())

async function namesOf(hf: Holdfast, prefix: string): Promise<string[]> {
  const names: string[] = []
  for await (const line of hf.list({ prefix })) names.push(line.name)
  return names.toSorted()
}

/** All ways of a line that tell somebody, between two processes of one prefix. */
async function works(make: () => RedisClient, own?: string): Promise<void> {
  const options = own === undefined ? {} : { prefix: own }
  const [one, other] = await Promise.all([holdfast(redis(make(), options)), holdfast(redis(make(), options))])
  const settings = { ttlMs: TTL_MS, fairness: 'strict' } as const
  try {
    for (const name of ['plain', 'br{ace}*']) {
      // Three, so that the short way of a release is gone as well as the long one.
      const held = await one.mutex(name, settings).acquire()
      const waiting = [other, one, other].map((hf) => hf.mutex(name, settings).using(async () => hf))
      await expect.poll(async () => (await first(one, name))?.waiters.length).toBe(3)
      expect(await namesOf(other, name)).toEqual([name])
      await held.release()
      await Promise.all(waiting)

      const permit = await one.semaphore(`${name}-s`, 2, settings).acquire({ permits: 2 })
      const permits = [other, other].map((hf) => hf.semaphore(`${name}-s`, 2, settings).acquire())
      await expect.poll(async () => (await first(one, `${name}-s`))?.waiters.length).toBe(2)
      await permit.release()
      for (const next of await Promise.all(permits)) await next.release()
    }
    const barriers = [one, other].map((hf) => hf.barrier('both', 2, { ttlMs: TTL_MS }).wait())
    expect(await Promise.all(barriers)).toEqual([0, 0])
  } finally {
    await Promise.all([one.close(), other.close()])
  }
}

async function first(hf: Holdfast, prefix: string) {
  for await (const line of hf.list({ prefix })) if (line.name === prefix) return line
  return undefined
}

test.each(PREFIXES)('%j: waiters are told at once, list() shows the lines, a barrier opens', async (keyPrefix) => {
  const clients: Redis[] = []
  await works(() => {
    const client = new Redis(server.port, '127.0.0.1', { keyPrefix })
    clients.push(client)
    return client
  })
  for (const client of clients) client.disconnect()
})

test('beside a prefix of our own that has glob characters in it', async () => {
  const clients: Redis[] = []
  await works(() => {
    const client = new Redis(server.port, '127.0.0.1', { keyPrefix: 'a*{b}' })
    clients.push(client)
    return client
  }, 'h[o]ld?fast*\\')
  for (const client of clients) client.disconnect()
})

test('on a cluster', async () => {
  const { servers } = await bed.cluster()
  const nodes = servers.map(({ port }) => ({ host: '127.0.0.1', port }))
  for (const keyPrefix of ['{app}:', 'a{b*']) {
    const clients: Cluster[] = []
    await works(() => {
      const client = new Cluster(nodes, { keyPrefix })
      clients.push(client)
      return client
    })
    for (const client of clients) client.disconnect()
  }
  const client = new Cluster(nodes, { keyPrefix: 'a{}:', lazyConnect: true })
  expect(() => redis(client)).toThrow(UsageError)
  client.disconnect()
})

test('a keyPrefix that is no text is refused', () => {
  const client = new Redis({ lazyConnect: true, keyPrefix: Buffer.from([0xff]) as unknown as string })
  expect(() => redis(client)).toThrow(UsageError)
  client.disconnect()
})

test.each(['h[o]ld?fast*\\', 'a-z^', '锁', 'ein\nZeilenende'])('a prefix of ours %j, by URL', async (prefix) => {
  const hf = await holdfast(server.url, { prefix, ttlMs: TTL_MS })
  const held = await hf.mutex('line').acquire()
  const waiting = hf.mutex('line', { fairness: 'strict' }).acquire()
  await expect.poll(async () => (await first(hf, 'line'))?.waiters.length).toBe(1)
  await held.release()
  await (await waiting).release()
  await hf.close()
})
