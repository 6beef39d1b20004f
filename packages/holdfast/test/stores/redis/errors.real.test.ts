/** Bad input and faults of one server: a typed error or ridden out, nothing lost, nothing left behind. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { redis } from '../../../src/stores/redis/index.ts'
import {
  LockLostError,
  type Held,
  type Holdfast,
  holdfast,
  StoreError,
  StoreUnreachableError,
  UsageError,
} from '../../../src/index.ts'
import { type FaultProxy, faultProxy } from '../../../../holdfast-lab/src/testbed/proxy.ts'
import { redisAsk } from '../../../../holdfast-lab/src/testbed/redis.ts'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'

let bed: Testbed
let server: Server
const open: Holdfast[] = []
const stray: unknown[] = []
const onStray = (error: unknown): void => void stray.push(error)

beforeAll(async () => {
  process.on('unhandledRejection', onStray)
  await requireServers(['redis'])
  bed = await testbed()
  server = await bed.redis()
})

afterAll(async () => {
  for (const hf of open) await hf.close()
  await bed?.close()
  process.off('unhandledRejection', onStray)
  expect(stray).toEqual([])
})

async function on(url: string, options: Parameters<typeof holdfast>[1] = {}): Promise<Holdfast> {
  const hf = await holdfast(url, options)
  open.push(hf)
  return hf
}

const ask = (of: Server, ...command: string[]): Promise<string> => redisAsk(of.port, '', command)
const fresh = (): string => `line-${randomBytes(6).toString('hex')}`

function lost(held: Held): Promise<void> {
  return new Promise((resolve) => {
    if (held.signal.aborted) resolve()
    else held.signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

async function crowd(hf: Holdfast, name: string): Promise<number> {
  for await (const line of hf.list({ prefix: name })) return line.holders.length + line.waiters.length
  return 0
}

describe('what can not work is said at once', () => {
  test('a wrong password, without showing it', async () => {
    const guarded = await bed.redis({ requirepass: 'right' })
    const error = await holdfast(`redis://:s3cret-wrong@127.0.0.1:${guarded.port}`).catch((e: unknown) => e as Error)
    expect(error).toBeInstanceOf(StoreError)
    expect(error).not.toBeInstanceOf(StoreUnreachableError)
    expect((error as Error).message).toMatch(/WRONGPASS|invalid username-password/)
    expect(JSON.stringify([error, (error as Error).message, (error as Error).stack])).not.toContain('s3cret')
    await expect(holdfast(`redis://127.0.0.1:${guarded.port}`)).rejects.toThrow(/NOAUTH/)
    const hf = await on(guarded.url)
    await (await hf.mutex('a').acquire()).release()
  })

  test('nobody there', async () => {
    const gone = await bed.redis()
    await gone.kill()
    await expect(holdfast(gone.url, { connectTimeoutMs: 300 })).rejects.toBeInstanceOf(StoreUnreachableError)
  })

  test.each(['redis://', 'redis://h/x', 'redis://h:0', 'redis://u@h', 'rediss://h:99999', 'redis://h?nope=1'])(
    'a wrong URL: %s',
    async (url) => {
      await expect(holdfast(url)).rejects.toBeInstanceOf(UsageError)
    },
  )

  test.each(['replicas=two', 'replicas=-1', 'replicas=101', 'retentionMs=5', 'replicasTimeoutMs=', 'retention=5'])(
    'a wrong option in the URL: %s',
    async (query) => {
      await expect(holdfast(`redis://127.0.0.1:1?${query}`)).rejects.toBeInstanceOf(UsageError)
    },
  )

  test('options of the store in the URL are heeded', async () => {
    const hf = await on(`${server.url}?replicas=1&replicasTimeoutMs=50&retentionMs=2000&commandTimeoutMs=4000`)
    await expect(hf.mutex(fresh()).acquire()).rejects.toThrow(/0 of 1 replicas .* 50 ms/)
  })

  test('a prefix that would break the hash tag', async () => {
    await expect(holdfast(server.url, { prefix: 'a{b' })).rejects.toBeInstanceOf(UsageError)
  })

  test('a replica instead of a primary', async () => {
    const replica = await bed.redis({ replicaof: { port: server.port } })
    await expect(holdfast(replica.url)).rejects.toThrow(/is a replica of 127\.0\.0\.1:\d+/)
  })

  test('a user who may not run scripts, or not listen', async () => {
    await ask(server, 'ACL', 'SETUSER', 'noscript', 'on', '>pw', '~*', '&*', '+@all', '-@scripting')
    const refused = await holdfast(`redis://noscript:pw@127.0.0.1:${server.port}`).catch((e: unknown) => e as Error)
    expect(refused).toBeInstanceOf(StoreError)
    expect((refused as Error).message).toMatch(/NOPERM.*\+eval/)
    await ask(server, 'ACL', 'SETUSER', 'readonly', 'on', '>pw', '~*', '&*', '+@all', '-@write')
    const readonly = await on(`redis://readonly:pw@127.0.0.1:${server.port}`)
    await expect(readonly.mutex('a').acquire()).rejects.toThrow(/refused: .*\+@write/)
    await ask(server, 'ACL', 'SETUSER', 'deaf', 'on', '>pw', '~*', 'resetchannels', '+@all')
    const deaf = await on(`redis://deaf:pw@127.0.0.1:${server.port}`)
    await expect(deaf.mutex('a').acquire()).rejects.toThrow(/NOPERM.*channels/)
  })

  test('a user with just the rights that the documentation names', async () => {
    const rights = ['+eval', '+evalsha', '+subscribe', '+unsubscribe', '+scan', '+info', '+wait', '+time', '+publish']
    const user = ['ACL', 'SETUSER', 'modest', 'on', '>pw', '~holdfast:*', '&holdfast:*', '+@read', '+@write', ...rights]
    await ask(server, ...user)
    const hf = await on(`redis://modest:pw@127.0.0.1:${server.port}`)
    const name = fresh()
    const held = await hf.mutex(name).acquire()
    const waiting = hf.mutex(name, { fairness: 'strict' }).acquire()
    await expect.poll(() => crowd(hf, name)).toBe(2)
    await held.release()
    await (await waiting).release()
  })

  test('an eviction policy that may throw locks away is warned of', async () => {
    const evicting = await bed.redis({ config: { maxmemory: '50mb', 'maxmemory-policy': 'allkeys-lru' } })
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve))
    await on(evicting.url)
    expect(await warned).toMatchObject({ name: 'HoldfastWarning', code: 'HF_EVICTION' })
  })
})

describe('what others did to our keys', () => {
  test('a foreign type, or a foreign string, under the key of a line', async () => {
    const hf = await on(server.url)
    await ask(server, 'HSET', 'holdfast:{foreign-hash}', 'a', 'b')
    await ask(server, 'SET', 'holdfast:{foreign-string}', 'b')
    for (const name of ['foreign-hash', 'foreign-string']) {
      await expect(hf.mutex(name).acquire()).rejects.toThrow(/WRONGTYPE.*prefix/)
      await expect(hf.mutex(name).tryAcquire()).rejects.toBeInstanceOf(StoreError)
    }
    expect(await ask(server, 'GET', 'holdfast:{foreign-string}')).toContain('b')
    expect(await crowd(hf, 'foreign-string')).toBe(0)
  })

  test('SCRIPT FLUSH in the middle of everything', async () => {
    const [a, b] = [await on(server.url), await on(server.url)]
    const name = fresh()
    const held = await a.mutex(name).acquire()
    const waiting = b.mutex(name).acquire()
    await expect.poll(() => crowd(a, name)).toBe(2)
    await ask(server, 'SCRIPT', 'FLUSH')
    await held.release()
    await ask(server, 'SCRIPT', 'FLUSH')
    expect(await (await waiting).release()).toBe(true)
  })

  test('the key of a held line deleted: the holder is told, others go on, tokens rise', async () => {
    const hf = await on(server.url)
    const name = fresh()
    const held = await hf.mutex(name, { ttlMs: 600 }).acquire()
    await ask(server, 'DEL', `holdfast:{${name}}`)
    await lost(held)
    expect(held.signal.reason).toBeInstanceOf(LockLostError)
    const next = await hf.mutex(name).acquire()
    expect(next.token).toBeGreaterThan(held.token)
    await next.release()
  })

  test('the queue of a line deleted: its waiters enter anew', async () => {
    const [a, b] = [await on(server.url), await on(server.url)]
    const name = fresh()
    const held = await a.mutex(name).acquire()
    const waiting = b.mutex(name, { ttlMs: 900 }).acquire()
    await expect.poll(() => crowd(a, name)).toBe(2)
    await ask(server, 'DEL', `holdfast:{${name}}:q`)
    await held.release()
    await (await waiting).release()
    expect(await crowd(a, name)).toBe(0)
  })
})

describe('a server in need', () => {
  test('out of memory: new places are refused, those there are renewed and released', async () => {
    const full = await bed.redis({ config: { 'maxmemory-policy': 'noeviction' } })
    const hf = await on(full.url)
    const name = fresh()
    const held = await hf.mutex(name, { ttlMs: 600 }).acquire()
    const shared = await hf.semaphore(`${name}-s`, 3, { ttlMs: 600 }).acquire()
    const other = await hf.semaphore(`${name}-s`, 3, { ttlMs: 600 }).acquire()
    await ask(full, 'CONFIG', 'SET', 'maxmemory', '1')
    await expect(hf.mutex(`${name}-new`).acquire()).rejects.toThrow(/OOM.*out of memory/)
    // Two leases long: only renewals keep them.
    const end = performance.now() + 1_200
    await expect.poll(() => performance.now() > end, { timeout: 5_000 }).toBe(true)
    for (const hold of [held, shared, other]) {
      hold.assertHeld()
      expect(await hold.release()).toBe(true)
    }
    expect(await crowd(hf, name)).toBe(0)
    await ask(full, 'CONFIG', 'SET', 'maxmemory', '0')
    await (await hf.mutex(`${name}-new`).acquire()).release()
  })

  test('turned into a replica and back while held: ridden out', async () => {
    const [primary, other] = [await bed.redis(), await bed.redis()]
    const hf = await on(primary.url)
    const name = fresh()
    const held = await hf.mutex(name, { ttlMs: 20_000 }).acquire()
    // It stays what it was until the first sync is over; a primary that is not there keeps it read-only with its data.
    await other.kill()
    await ask(primary, 'REPLICAOF', '127.0.0.1', String(other.port))
    const asking = hf.mutex(`${name}-2`, { ttlMs: 20_000 }).acquire()
    await expect(hf.mutex(`${name}-3`).acquire({ waitMs: 300 })).rejects.toBeInstanceOf(StoreUnreachableError)
    await ask(primary, 'REPLICAOF', 'NO', 'ONE')
    await (await asking).release()
    held.assertHeld()
    expect(await held.release()).toBe(true)
  })

  test('restarted while held, with its data: the hold goes on; without: it is lost, and tokens rise', async () => {
    const durable = await bed.redis({ appendonly: 'always' })
    const [a, b] = [await on(durable.url), await on(durable.url)]
    const name = fresh()
    const held = await a.mutex(name, { ttlMs: 20_000 }).acquire()
    const waiting = b.mutex(name, { ttlMs: 20_000 }).acquire()
    await expect.poll(() => crowd(a, name)).toBe(2)
    await durable.kill()
    await durable.restart({ keepData: true })
    await expect.poll(() => crowd(a, name).catch(() => -1), { timeout: 20_000 }).toBe(2)
    held.assertHeld()
    expect(await held.release()).toBe(true)
    const next = await waiting
    expect(next.token).toBeGreaterThan(held.token)
    const short = await a.mutex(`${name}-short`, { ttlMs: 900 }).acquire()
    await durable.kill()
    await durable.restart({ keepData: false })
    await lost(short)
    const after = await b.mutex(`${name}-short`).acquire()
    expect(after.token).toBeGreaterThan(short.token)
    await after.release()
    await next.release()
  })
})

test('a crowd works on through restarts with the data: one at a time, and tokens rise', async () => {
  const durable = await bed.redis({ appendonly: 'always' })
  const crew = await Promise.all(Array.from({ length: 3 }, () => on(durable.url)))
  const name = fresh()
  const tokens: bigint[] = []
  const over = new AbortController()
  let inside = 0
  const working = crew.map(async (hf) => {
    while (!over.signal.aborted) {
      const held = await hf.mutex(name, { fairness: 'strict', ttlMs: 30_000 }).acquire()
      expect(++inside).toBe(1)
      tokens.push(held.token)
      await Promise.resolve()
      inside--
      await held.release()
    }
  })
  for (let restarts = 0; restarts < 3; restarts++) {
    const sofar = tokens.length
    await expect.poll(() => tokens.length, { timeout: 30_000 }).toBeGreaterThan(sofar + 20)
    await durable.kill()
    await durable.restart({ keepData: true })
  }
  const sofar = tokens.length
  await expect.poll(() => tokens.length, { timeout: 30_000 }).toBeGreaterThan(sofar + 20)
  over.abort()
  await Promise.all(working)
  expect(tokens.every((token, i) => i === 0 || token > (tokens[i - 1] ?? 0n))).toBe(true)
  expect(await crowd(crew[0] as Holdfast, name)).toBe(0)
})

describe('a network in between', () => {
  async function proxied(): Promise<{ proxy: FaultProxy; hf: Holdfast }> {
    const proxy = await faultProxy({ port: server.port })
    return { proxy, hf: await on(`redis://127.0.0.1:${proxy.port}`) }
  }
  const isScript = (bytes: Buffer): boolean => bytes.includes('EVAL')

  test('the reply to enter, then the reply to leave, is lost: one place, then none', async () => {
    const { proxy, hf } = await proxied()
    const direct = await on(server.url)
    const name = fresh()
    await (await hf.mutex(`${name}-warm`).acquire()).release()
    const entering = proxy.loseNextReply({ match: isScript })
    const held = await hf.mutex(name).acquire()
    expect(await entering).toBe(true)
    expect(await crowd(direct, name)).toBe(1)
    const leaving = proxy.loseNextReply({ match: isScript })
    await held.release()
    expect(await leaving).toBe(true)
    await expect.poll(() => crowd(direct, name)).toBe(0)
    expect(await direct.mutex(name).tryAcquire()).not.toBeNull()
    await proxy.close()
  })

  test('the line breaks while one waits: it is served when the holder lets go, and no later', async () => {
    const { proxy, hf } = await proxied()
    const direct = await on(server.url)
    const name = fresh()
    const held = await direct.mutex(name).acquire()
    const waiting = hf.mutex(name, { ttlMs: 20_000 }).acquire()
    await expect.poll(() => crowd(direct, name)).toBe(2)
    await proxy.set({ accept: false })
    proxy.reset()
    // Published while nobody listens: only the look after the reconnect can find it.
    await held.release()
    await proxy.heal()
    const next = await waiting
    expect(next.token).toBeGreaterThan(held.token)
    await next.release()
    await proxy.close()
  })

  test('silence is an outage, told in time, and what was asked meanwhile leaves nothing behind', async () => {
    const proxy = await faultProxy({ port: server.port })
    const hf = await holdfast(redis(`redis://127.0.0.1:${proxy.port}`, { commandTimeoutMs: 300 }))
    open.push(hf)
    const direct = await on(server.url)
    const name = fresh()
    await (await hf.mutex(name).acquire()).release()
    await proxy.set({ toClient: 'hold' })
    await expect(hf.mutex(name).acquire({ waitMs: 1_000 })).rejects.toBeInstanceOf(StoreUnreachableError)
    await proxy.heal()
    await expect.poll(() => crowd(direct, name), { timeout: 20_000 }).toBe(0)
    await (await hf.mutex(name).acquire()).release()
    await proxy.close()
  })
})
