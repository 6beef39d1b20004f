/** What redlock 5 documents, asked of that package and of ours: the same tests, on the same servers. */
import { once } from 'node:events'
import { Redis } from 'ioredis5'
import * as redlock5 from 'redlock'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import { redisAsk } from '../../../../holdfast-lab/src/testbed/redis.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import * as ours from '../../../src/compat/redlock/index.ts'
import { initRedlock } from '../../../src/stores/redlock/index.ts'
import { UnsupportedError, UsageError } from '../../../src/index.ts'

let bed: Testbed
let servers: Server[]
const clients: Redis[] = []

beforeAll(async () => {
  await requireServers(['redis'])
  bed = await testbed()
  servers = await Promise.all([bed.redis(), bed.redis(), bed.redis(), bed.redis(), bed.redis()])
  await initRedlock(three().map(({ url }) => url))
})

afterAll(async () => {
  for (const quit of quits) await quit()
  for (const client of clients) client.disconnect()
  await bed?.close()
})

const quits: (() => Promise<unknown>)[] = []
/** The first is alone, the last loses its data; these three vote. */
const three = (): Server[] => servers.slice(1, 4)

type Package = typeof ours
const theirs = redlock5 as unknown as Package

let names = 0
const name = (): string => `resource-${++names}`
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

function connect({ port }: Server): Redis {
  const client = new Redis({ port, maxRetriesPerRequest: 1 })
  client.on('error', () => undefined)
  clients.push(client)
  return client
}

const PACKAGES: readonly [string, Package][] = [
  ['redlock 5', theirs],
  ['holdfast/compat/redlock', ours],
]
const SETTINGS = { retryCount: 0, automaticExtensionThreshold: 100 }

describe.concurrent.each(PACKAGES)('%s', (_, { default: Redlock, ExecutionError, ResourceLockedError }) => {
  /** Another user of the same servers: one server, or three that vote. */
  const make = (count: 1 | 3, settings: Partial<ours.Settings> = SETTINGS): ours.Redlock => {
    const redlock = new Redlock((count === 1 ? servers.slice(0, 1) : three()).map(connect), settings)
    quits.push(() => redlock.quit())
    return redlock
  }

  test.each([1, 3] as const)(
    'on %i server(s): one holds, the other is refused, and gets it after the release',
    async (n) => {
      const [a, b] = [make(n), make(n)]
      const resource = name()
      const lock = await a.acquire([resource], 20_000)
      expect(lock.resources).toEqual([resource])
      expect(lock.value).toMatch(/^[0-9a-f]{32}$/)
      expect(lock.expiration).toBeGreaterThan(Date.now())
      const errors: unknown[] = []
      b.on('error', (error) => errors.push(error))
      const refused = await b.acquire([resource], 20_000).catch((error: unknown) => error)
      expect(refused).toBeInstanceOf(ExecutionError)
      const [attempt] = (refused as ours.ExecutionError).attempts
      expect((await attempt)?.membershipSize).toBe(n)
      expect((await attempt)?.quorumSize).toBe(n === 1 ? 1 : 2)
      expect((await attempt)?.votesFor.size).toBeLessThan(n === 1 ? 1 : 2)
      expect(errors[0]).toBeInstanceOf(ResourceLockedError)
      await lock.release()
      const next = await b.acquire([resource], 20_000)
      await next.release()
    },
  )

  test('waits for as many tries as it is told, and for ever with -1', async () => {
    const [a, b] = [make(1), make(1)]
    const resource = name()
    const lock = await a.acquire([resource], 20_000)
    await expect(b.acquire([resource], 1_000, { retryCount: 2, retryDelay: 20 })).rejects.toBeInstanceOf(ExecutionError)
    const waiting = b.acquire([resource], 20_000, { retryCount: -1, retryDelay: 20, retryJitter: 10 })
    await pause(100)
    await lock.release()
    await (await waiting).release()
  })

  test('several resources: all or none', async () => {
    const [a, b] = [make(1), make(1)]
    const [one, two, three] = [name(), name(), name()]
    const lock = await a.acquire([one, two], 20_000)
    await expect(b.acquire([two, three], 20_000)).rejects.toBeInstanceOf(ExecutionError)
    await (await b.acquire([three], 20_000)).release()
    await lock.release()
    await (await b.acquire([one, two], 20_000)).release()
  })

  test.each([1, 3] as const)('on %i server(s): a lock that is extended outlasts its duration', async (n) => {
    const [a, b] = [make(n), make(n)]
    const resource = name()
    let lock = await a.acquire([resource], 3_000)
    for (let i = 0; i < 3; i++) {
      await pause(1_200)
      const next = await lock.extend(3_000)
      expect(lock.expiration).toBe(0)
      lock = next
      await expect(b.acquire([resource], 1_000)).rejects.toBeInstanceOf(ExecutionError)
    }
    await lock.release()
    await (await b.acquire([resource], 1_000)).release()
  })

  test('on one server a lock may be extended for longer than it was taken for', async () => {
    const [a, b] = [make(1), make(1)]
    const resource = name()
    const lock = await (await a.acquire([resource], 2_000)).extend(20_000)
    await pause(2_200)
    await expect(b.acquire([resource], 1_000)).rejects.toBeInstanceOf(ExecutionError)
    await lock.release()
  })

  test('a lock that has expired can be neither extended nor released', async () => {
    const [a, b] = [make(1), make(1)]
    const resource = name()
    const lock = await a.acquire([resource], 200)
    const next = await b.acquire([resource], 20_000, { retryCount: -1, retryDelay: 20, retryJitter: 10 })
    await expect(lock.extend(1_000)).rejects.toBeInstanceOf(ExecutionError)
    await expect(lock.release()).rejects.toBeInstanceOf(ExecutionError)
    await next.release()
    await expect(next.release()).rejects.toBeInstanceOf(ExecutionError)
  })

  test("a release that comes too late tells 'error' what programs are told to ignore", async () => {
    const redlock = make(1)
    const told: unknown[] = []
    redlock.on('error', (error) => told.push(error))
    const released = await redlock.acquire([name()], 20_000)
    await released.release()
    await expect(released.release()).rejects.toBeInstanceOf(ExecutionError)
    const late = await redlock.acquire([name()], 100)
    await pause(300)
    await expect(late.release()).rejects.toBeInstanceOf(ExecutionError)
    expect(told).toHaveLength(2)
    for (const error of told) expect(error).toBeInstanceOf(ResourceLockedError)
  })

  test.each([1, 3] as const)('on %i server(s): using renews while the routine runs, and gives its value', async (n) => {
    const [a, b] = [make(n), make(n)]
    const resource = name()
    const value = await a.using([resource], 1_000, async (signal) => {
      await pause(2_200)
      await expect(b.acquire([resource], 1_000)).rejects.toBeInstanceOf(ExecutionError)
      expect(signal.aborted).toBe(false)
      return 'value'
    })
    expect(value).toBe('value')
    await (await b.acquire([resource], 1_000)).release()
  })

  test("using throws the routine's own error, takes settings, and lets go", async () => {
    const [a, b] = [make(1), make(1)]
    const resource = name()
    const fault = new Error('of the routine')
    const failing = (): Promise<never> => Promise.reject(fault)
    await expect(a.using([resource], 1_000, { retryCount: 1 }, failing)).rejects.toBe(fault)
    await (await b.acquire([resource], 1_000)).release()
  })

  test('using tells by its signal that the lock was lost', async () => {
    const server = servers.at(-1) as Server
    const redlock = new Redlock([connect(server)], SETTINGS)
    quits.push(() => redlock.quit())
    redlock.on('error', () => undefined)
    const resource = name()
    const working = redlock.using([resource], 1_000, async (signal) => {
      await redisAsk(server.port, '', ['FLUSHALL'])
      if (!signal.aborted) await once(signal, 'abort')
      expect(signal.error).toBeInstanceOf(ExecutionError)
      throw signal.error
    })
    await expect(working).rejects.toBeInstanceOf(ExecutionError)
  })

  test('refuses no clients, a duration that is no whole number, and one too short for using', async () => {
    expect(() => new Redlock([])).toThrow('at least one redis client')
    const redlock = make(1)
    await expect(redlock.acquire([name()], 0.5)).rejects.toThrow('Duration must be an integer')
    await expect(redlock.using([name()], 150, async () => 1)).rejects.toThrow('automaticExtensionThreshold')
  })
})

describe.concurrent('what differs', () => {
  const make = (count: 1 | 3, settings: Partial<ours.Settings> = SETTINGS): ours.Redlock => {
    const redlock = new ours.Redlock((count === 1 ? servers.slice(0, 1) : three()).map(connect), settings)
    quits.push(() => redlock.quit())
    return redlock
  }

  test('a lock has a fencing token for each resource, and no failure is an uncaught error', async () => {
    const [a, b] = [make(1), make(1)]
    const resources = [name(), name()]
    const lock = await a.acquire(resources, 20_000)
    expect(lock.held.holds.map((held) => held.name)).toEqual(resources)
    await expect(b.acquire(resources, 20_000)).rejects.toBeInstanceOf(ours.ExecutionError)
    const tokens = lock.held.holds.map(({ token }) => token)
    await lock.release()
    const next = await b.acquire(resources, 20_000)
    for (const [i, { token }] of next.held.holds.entries()) expect(token).toBeGreaterThan(tokens[i] as bigint)
    await next.release()
  })

  test('on several servers an extension past the first duration is refused by name', async () => {
    const lock = await make(3).acquire([name()], 2_000)
    const refused = await lock.extend(20_000).catch((error: unknown) => error)
    expect((refused as Error).cause).toBeInstanceOf(UnsupportedError)
    await lock.release()
  })

  test('rolling: both packages exclude each other on one server', async () => {
    const old = new theirs.default(servers.slice(0, 1).map(connect), { retryCount: 0 })
    quits.push(() => old.quit())
    const rolling = make(1, { ...SETTINGS, rolling: true })
    const resources = [name(), name()]
    const lock = await rolling.acquire(resources, 2_000)
    await expect(old.acquire(resources.slice(1), 1_000)).rejects.toBeInstanceOf(theirs.ExecutionError)
    const longer = await lock.extend(20_000)
    await pause(2_200)
    await expect(old.acquire(resources.slice(0, 1), 1_000)).rejects.toBeInstanceOf(theirs.ExecutionError)
    await longer.release()
    const next = await old.acquire(resources, 20_000)
    await expect(rolling.acquire(resources, 1_000)).rejects.toBeInstanceOf(ours.ExecutionError)
    await next.release()
    await (await rolling.acquire(resources, 1_000)).release()
  })

  test('refuses what it has not: scripts, unknown settings, rolling on several servers, no resources', async () => {
    await expect(make(1).acquire([], 1_000)).rejects.toThrow('resources must be a list of names')
    const one = servers.slice(0, 1).map(connect)
    expect(() => new ours.Redlock(one, {}, {} as never)).toThrow(UsageError)
    expect(() => new ours.Redlock(one, { retries: 1 } as never)).toThrow(UsageError)
    expect(() => new ours.Redlock(one, { retryCount: '1' } as never)).toThrow(UsageError)
    expect(() => new ours.Redlock(three().map(connect), { rolling: true })).toThrow(UsageError)
  })
})
