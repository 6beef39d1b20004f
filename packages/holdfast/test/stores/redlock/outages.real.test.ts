/**
 * Five servers of which some are down or frozen: the same laws, by those that are left; with three gone, a clear error
 * in time.
 */
import { once } from 'node:events'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Redis } from 'ioredis'
import { createClient } from '@redis/client'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { conformance } from '../../../conformance/index.ts'
import { initRedlock, redlock } from '../../../src/stores/redlock/index.ts'
import { type Holdfast, holdfast, StoreUnreachableError } from '../../../src/index.ts'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import { ask, entry, fresh, urlOf } from './rig.ts'

await requireServers(['redis'])
const bed = await testbed()
const servers: readonly Server[] = (await bed.redlock(5)).servers
const url = urlOf(servers)
await initRedlock(url, { maxTtlMs: 30_000 })
const built = new URL('../../../build/', import.meta.url)
const { conformance: makeCases } = (await import(new URL('conformance/index.js', built).href)) as {
  readonly conformance: typeof conformance
}
const open: Holdfast[] = []

afterEach(async () => {
  for (const hf of open.splice(0)) await hf.close()
})
afterAll(() => bed.close())

/**
 * What a missing server could break: exclusion, waiting, rounds that fail in the middle, tokens, what is left behind.
 */
const CHOSEN = [
  /^a mutex: (held by one|a waiter gets it|waitMs ends)/,
  /^200 contenders of two clients on a mutex/,
  /^80 readers and writers/,
  /^they rise across an empty line/,
  /^a contended acquisition goes through/,
  /^concurrent updates of two clients/,
  /^holders and waiters in order/,
]

const casesOn = (config: string): ReturnType<typeof makeCases> =>
  makeCases({ module: new URL('src/stores/redlock/index.js', built), config }).filter(({ name }) =>
    CHOSEN.some((pattern) => pattern.test(name)),
  )
const cases = casesOn(url)

function situation(
  what: string,
  begin: () => Promise<void> | void,
  end: () => Promise<void> | void,
  chosen = cases,
): void {
  describe(what, () => {
    beforeAll(async () => begin())
    afterAll(async () => end())
    for (const { law, name, timeoutMs, run } of chosen) test(`${law}: ${name}`, run, timeoutMs)
  })
}

const gone = (count: number): readonly Server[] => servers.slice(0, count)

test('the chosen cases are there', () => {
  expect(cases.length).toBe(9)
})

// Votes can come out even, and must not stay so.
for (const count of [2, 4]) {
  const few = (await bed.redlock(count)).servers
  await initRedlock(urlOf(few), { maxTtlMs: 30_000 })
  situation(
    `${count} servers`,
    () => undefined,
    () => undefined,
    casesOn(urlOf(few)),
  )
}

// Frozen first: a server that was down comes back as another run, and gives no votes for a while.
for (const count of [1, 2]) {
  situation(
    `${count} of 5 frozen`,
    () => {
      for (const server of gone(count)) server.pause()
    },
    () => {
      for (const server of gone(count)) server.resume()
    },
  )
}

describe('a server that freezes under a holder', () => {
  test('is not waited for, and the hold lives on', async () => {
    const hf = await holdfast(url)
    open.push(hf)
    const held = await hf.mutex(fresh(), { ttlMs: 10_000 }).acquire()
    for (const server of gone(2)) server.pause()
    try {
      const other = await hf.mutex(fresh(), { ttlMs: 10_000 }).acquire({ waitMs: 5_000 })
      expect(await other.release()).toBe(true)
      held.assertHeld()
      expect(await held.release()).toBe(true)
    } finally {
      for (const server of gone(2)) server.resume()
    }
  })
})

describe('a server that freezes while places come and go', () => {
  test.each([
    ['by URL', 'after it was met'],
    ['by URL', 'while it is met'],
    ['by clients', 'after it was met'],
    ['by clients', 'while it is met'],
  ])('is of use again soon: it is not left with a grave for each of them (%s, %s)', async (by, when) => {
    const [frozen, ...others] = servers as [Server, Server, Server]
    const has = (name: string): Promise<string> => ask(frozen, 'EXISTS', `holdfast:{${name}}`)
    const clients = by === 'by URL' ? [] : servers.map(({ port }) => new Redis(port))
    const hf = await holdfast(by === 'by URL' ? url : redlock(clients), { ttlMs: 20_000 })
    open.push(hf)
    const [line, early, late] = [fresh(), fresh(), fresh()]
    const visit = async (name: string): Promise<void> => void (await (await hf.mutex(name).acquire()).release())
    const isMet = async (): Promise<string> => {
      await visit(early)
      return has(early)
    }
    if (when === 'after it was met') await expect.poll(isMet, { timeout: 30_000 }).toBe(':1\r\n')
    frozen.pause()
    // For longer than its answers are waited for: what it was sent until then may still be done when it goes on.
    let times = 0
    for (const until = performance.now() + 2_000; performance.now() < until; times++) {
      await visit(line)
    }
    // By now it is asked nothing but who it is.
    await visit(late)
    frozen.resume()
    for (const other of others.slice(0, 2)) other.pause()
    try {
      const held = await hf.mutex(line).acquire({ waitMs: 30_000 })
      expect(await has(late)).toBe(':0\r\n')
      expect(times).toBeGreaterThan(100)
      expect(Number((await ask(frozen, 'STRLEN', `holdfast:{${line}}`)).slice(1))).toBeLessThan(1_000)
      expect(await held.release()).toBe(true)
    } finally {
      for (const other of others) other.resume()
      await hf.close()
      for (const client of clients) client.disconnect()
    }
  })
})

describe('a place', () => {
  test('that a server gave no answer about, and lost, is entered there again', async () => {
    const driver = redlock(url)
    const [frozen] = servers as [Server]
    const at = entry(fresh(), { ttlMs: 20_000 })
    try {
      await driver.open()
      frozen.pause()
      expect((await driver.enter(at, true))?.ahead).toBe(0)
      // Until its answer is not waited for any more.
      await new Promise((resolve) => setTimeout(resolve, 1_500))
      frozen.resume()
      const again = async (): Promise<boolean> => {
        await driver.touch([at])
        return (await ask(frozen, 'GET', `holdfast:{${at.line}}`)).includes(at.id)
      }
      await expect.poll(again, { timeout: 30_000 }).toBe(true)
      await ask(frozen, 'DEL', `holdfast:{${at.line}}`)
      await expect.poll(again, { timeout: 30_000 }).toBe(true)
    } finally {
      frozen.resume()
      await driver.leave(at)
      await driver.close()
    }
  })

  test('that another client entered, of many rounds, is free when it is left', async () => {
    const [a, b] = [redlock(url), redlock(url)]
    const [before, at, next] = [entry(fresh()), entry(fresh()), entry(fresh())]
    for (let rounds = 0; rounds < 20; rounds++) await a.enter(before, true)
    await a.enter(at, true)
    await b.touch([at])
    await b.leave(at)
    expect((await b.enter({ ...next, line: at.line }, false))?.ahead).toBe(0)
    await Promise.all([a.close(), b.close()])
  })
})

describe('clients that the user has already', () => {
  test('of ioredis and @redis/client, mixed with a URL: held, waited for, handed on', async () => {
    const [first, second, third] = servers as [Server, Server, Server]
    const ioredis = new Redis(first.port)
    const node = await createClient({ url: second.url }).connect()
    const three = [ioredis, node, third.url] as const
    try {
      await initRedlock([first.url, second.url, third.url], { prefix: 'mixed' })
      const [a, b] = [
        await holdfast(redlock(three, { prefix: 'mixed' })),
        await holdfast(redlock(three, { prefix: 'mixed' })),
      ]
      open.push(a, b)
      const line = fresh()
      const held = await a.mutex(line).acquire()
      expect(await b.mutex(line).tryAcquire()).toBeNull()
      const waiting = b.mutex(line).acquire({ waitMs: 20_000 })
      await held.release()
      const next = await waiting
      expect(next.token).toBeGreaterThan(held.token)
      await next.release()
    } finally {
      for (const hf of open.splice(0)) await hf.close()
      ioredis.disconnect()
      node.destroy()
    }
  })

  test.each(['ioredis', '@redis/client'])(
    'of %s, which a server has no room for a second time: listened to when it has',
    async (by) => {
      const three = (await bed.redlock(3)).servers
      const ioredis = three.map(({ port }) => new Redis(port))
      const nodes = await Promise.all(three.map((server) => createClient({ url: server.url }).connect()))
      const failed: (() => void)[] = []
      const onFailed = (): void => failed.splice(0).forEach((tell) => tell())
      const [admin] = ioredis as [Redis]
      const channels = async (): Promise<number> => ((await admin.call('PUBSUB', 'CHANNELS', '*')) as string[]).length
      try {
        await Promise.all(ioredis.map(async (client) => client.status === 'ready' || (await once(client, 'ready'))))
        await initRedlock(urlOf(three))
        subscribe('holdfast:error', onFailed)
        // One for each of the two clients.
        await expect.poll(() => admin.info('clients'), { timeout: 10_000 }).toMatch(/connected_clients:2\r/)
        await admin.config('SET', 'maxclients', 2)
        const isFailed = new Promise<void>((resolve) => void failed.push(resolve))
        const hf = await holdfast(redlock(by === 'ioredis' ? ioredis : nodes))
        open.push(hf)
        await (await hf.mutex(fresh()).acquire()).release()
        await isFailed
        expect(await channels()).toBe(0)
        await admin.config('SET', 'maxclients', 100)
        await expect.poll(channels, { timeout: 30_000 }).toBe(1)
      } finally {
        unsubscribe('holdfast:error', onFailed)
        for (const hf of open.splice(0)) await hf.close()
        for (const client of ioredis) client.disconnect()
        for (const node of nodes) node.destroy()
        for (const server of three) await server.stop()
      }
    },
  )
})

situation(
  '1 of 5 down',
  () => (servers[0] as Server).kill(),
  () => undefined,
)

situation(
  '2 of 5 down',
  () => (servers[1] as Server).kill(),
  () => undefined,
)

describe('3 of 5 down', () => {
  test('is told by the deadline, as an outage', async () => {
    const hf = await holdfast(url, { ttlMs: 20_000, connectTimeoutMs: 1_000 })
    open.push(hf)
    const held = await hf.mutex(fresh(), { ttlMs: 1_000 }).acquire()
    await (servers[2] as Server).kill()
    const mutex = hf.mutex(fresh())
    await expect(mutex.acquire({ waitMs: 500 })).rejects.toThrow(StoreUnreachableError)
    await expect(mutex.tryAcquire()).rejects.toThrow(/3 of 5 servers are needed/)
    await new Promise<void>((resolve) => {
      if (held.signal.aborted) resolve()
      else held.signal.addEventListener('abort', () => resolve(), { once: true })
    })
    expect(held.state).toBe('lost')
    await expect(holdfast(url, { connectTimeoutMs: 1_000 })).rejects.toThrow(StoreUnreachableError)
  })
})
