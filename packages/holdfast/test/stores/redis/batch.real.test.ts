/**
 * What one turn of the event loop asks goes as one script, over every kind of client; and what is wrong with one is
 * told to one.
 */
import { createClient } from '@redis/client'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RedisDriver } from '../../../src/stores/redis/driver.ts'
import { redis } from '../../../src/stores/redis/index.ts'
import type { Entry } from '../../../src/contract/driver.ts'
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

interface Opened {
  readonly driver: RedisDriver
  close(): Promise<void>
}

const CLIENTS: Record<string, (prefix: string) => Promise<Opened>> = {
  async own(prefix) {
    const driver = redis(server.url, { prefix })
    return { driver, close: () => driver.close() }
  },
  async ioredis(prefix) {
    const client = new Redis(server.port, '127.0.0.1', { stringNumbers: true })
    const driver = redis(client, { prefix })
    return {
      driver,
      async close() {
        await driver.close()
        client.disconnect()
      },
    }
  },
  async 'node-redis'(prefix) {
    const client = createClient({ url: server.url })
    await client.connect()
    const driver = redis(client, { prefix })
    return {
      driver,
      async close() {
        await driver.close()
        client.destroy()
      },
    }
  },
}

async function scriptsRun(): Promise<number> {
  const stats = await redisAsk(server.port, '', ['INFO', 'commandstats'])
  return Number(/cmdstat_evalsha:calls=(\d+),/.exec(stats)?.[1] ?? 0)
}

const idOf = (n: number): string => String(n).padStart(32, '0')

function entryOf(line: string, n: number): Entry {
  return { line, id: idOf(n), weight: 1, capacity: 1, ttlMs: 60_000, data: '{}' }
}

/** One costs 20 s of draining. */
const ONE = { cost: 1, burst: 1, unit: 20_000_000, drain: 1, shutAfter: 0, shutMs: 0 }

describe.each(Object.keys(CLIENTS))('over %s', (kind) => {
  const prefix = `batch-${kind}`
  let opened: Opened

  beforeAll(async () => {
    opened = await (CLIENTS[kind] as (prefix: string) => Promise<Opened>)(prefix)
  })

  afterAll(() => opened?.close())

  test('takes of one turn are two commands, and a wrong key spoils only its own', async () => {
    const { driver } = opened
    await driver.take('known', ONE)
    await redisAsk(server.port, '', ['RPUSH', `${prefix}:{list}:t`, 'x'])
    await redisAsk(server.port, '', ['SET', `${prefix}:{text}:t`, 'x'])
    const before = await scriptsRun()
    const outcomes = await Promise.allSettled(
      ['first', 'known', 'list', 'text', 'new', 'new'].map((key) => driver.take(key, ONE)),
    )
    expect(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value.taken : 'wrong'))).toEqual([
      ...[true, false, 'wrong', 'wrong', true, false],
    ])
    expect((await scriptsRun()) - before).toBe(2)
    await expect(driver.take('text', ONE)).rejects.toThrow(/WRONGTYPE/)
  })

  test('enters and leaves of one turn are a few commands, and a wrong key spoils only its own', async () => {
    const { driver } = opened
    await driver.enter(entryOf('taken', 0), true)
    await redisAsk(server.port, '', ['RPUSH', `${prefix}:{list}`, 'x'])
    await redisAsk(server.port, '', ['SET', `${prefix}:{text}`, 'x'])
    const right = ['a', 'b', 'taken', 'c', 'c'].map((line, i) => entryOf(line, i + 1))
    const before = await scriptsRun()
    const places = await Promise.all(right.map((entry) => driver.enter(entry, true)))
    expect(places.map((place) => place?.ahead)).toEqual([0, 0, 1, 0, 1])
    expect((await scriptsRun()) - before).toBe(2)
    const wrong = ['d', 'list', 'e', 'text', 'f'].map((line, i) => entryOf(line, i + 10))
    const outcomes = await Promise.allSettled(wrong.map((entry) => driver.enter(entry, true)))
    expect(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value?.ahead : 'wrong'))).toEqual([
      ...[0, 'wrong', 0, 'wrong', 0],
    ])
    // Asked again after the refusal of the whole, a place is still the one it was.
    expect(await driver.touch([wrong[2] as Entry, wrong[4] as Entry])).toMatchObject([{ ahead: 0 }, { ahead: 0 }])
    await Promise.all([...right, entryOf('taken', 0)].map((entry) => driver.leave(entry)))
    expect(await Promise.all(right.map((entry) => driver.enter({ ...entry, id: idOf(99) }, false)))).not.toContain(null)
  })

  test('behind a turn of several all of a turn are one command, and a lone call is sent as ever', async () => {
    const { driver } = opened
    const turn = ['p', 'q', 'r', 's'].map((line, i) => entryOf(line, i + 30))
    const counts: number[] = []
    const counted = async (calls: () => Promise<unknown>[]): Promise<void> => {
      const before = await scriptsRun()
      await Promise.all(calls())
      counts.push((await scriptsRun()) - before)
    }
    await counted(() => [driver.enter(entryOf('lone', 34), true)])
    await counted(() => turn.map((entry) => driver.enter(entry, true)))
    await counted(() => turn.map((entry) => driver.leave(entry)))
    await counted(() => [driver.leave(entryOf('lone', 34))])
    await counted(() => turn.map((entry, i) => driver.enter({ ...entry, id: idOf(i + 35) }, true)))
    expect(counts).toEqual([1, 2, 1, 1, 2])
  })

  test('within a turn nothing overtakes: who leaves first is gone for who tries next', async () => {
    const { driver } = opened
    const [first, next, other] = [entryOf('order', 20), entryOf('order', 21), entryOf('elsewhere', 22)]
    await driver.enter(first, true)
    const turn = [driver.enter(other, true), driver.leave(first), driver.enter(next, false), driver.touch([next])]
    expect(await Promise.all(turn)).toMatchObject([{ ahead: 0 }, undefined, { ahead: 0 }, [{ ahead: 0 }]])
  })

  test('refusals of one turn are counted one by one, and a shut key is shut for all', async () => {
    const { driver } = opened
    const counted = { ...ONE, shutAfter: 1, shutMs: 60_000 }
    const taken = await Promise.all(['a', 'b', 'b', 'b', 'b'].map((key) => driver.take(key, counted)))
    expect(taken.map(({ shut }) => shut)).toEqual([false, false, false, true, true])
    expect(await driver.take('b', ONE)).toMatchObject({ taken: false, left: 0, shut: true })
  })
})
