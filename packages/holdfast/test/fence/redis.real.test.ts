import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createClient } from '@redis/client'
import { Redis } from 'ioredis'
import { StoreError, UsageError } from '../../src/contract/errors.ts'
import { fenceLua, type Proof, redisGuard, staleReply } from '../../src/fence/index.ts'
import { requireServers } from '../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../holdfast-lab/src/testbed/testbed.ts'
import { pausedHolder } from './paused.ts'
import { openTarget } from './target.ts'
import { tellsTokensApart } from './tokens.ts'

const proof = (token: bigint): Proof => ({ line: 'l', token, place: '0123456789abcdef' })
let bed: Testbed
let server: Server
let client: Redis

beforeAll(async () => {
  await requireServers(['redis'])
  bed = await testbed()
  server = await bed.redis()
  client = new Redis(server.url)
}, 600_000)
beforeEach(() => client.flushall())
afterAll(async () => {
  client?.disconnect()
  await bed?.close()
})

describe.each(['redis', 'ioredis', '@redis/client'] as const)('through %s', (kind) => {
  test('a paused holder is refused, and nothing is lost', async () => {
    const outcome = await pausedHolder({ kind, target: server.url, store: server.url, ttlMs: 1_000 })
    expect(outcome).toMatchObject({ code: 'HF_STALE_TOKEN' })
  })

  test('tokens above 2^53 are told apart', async () => {
    const target = await openTarget(kind, server.url)
    await tellsTokensApart(target.check)
    await target.close()
  })
})

test('on a cluster, guard and guarded live in one slot', async () => {
  const guard = redisGuard((await bed.cluster()).url)
  for (const name of ['a', 'b', '{c}:stock']) {
    const key = name === '{c}:stock' ? '{c}:n' : `{${name}}:n`
    await guard.call(name, proof(6n), ['SET', key, name])
    expect(await guard.call(name, proof(6n), ['GET', key])).toBe(name)
    await expect(guard.call(name, proof(5n), ['DEL', key])).rejects.toMatchObject({ newest: 6n })
  }
  await expect(guard.call('a', proof(6n), ['SET', 'elsewhere', '1'])).rejects.toThrow(/slot/)
  await guard.close()
})

describe('a guard on Redis', () => {
  test('refuses the command together with the token', async () => {
    const guard = redisGuard(client)
    expect(await guard.call('s', proof(5n), ['SET', 'n', '7', 'PX', 60_000])).toBe('OK')
    expect(await guard.call('s', proof(6n), ['INCRBY', 'n', 3])).toBe(10)
    await expect(guard.call('s', proof(5n), ['DEL', 'n'])).rejects.toMatchObject({ given: 5n, newest: 6n })
    expect(await client.get('n')).toBe('10')
    await guard.forget('s')
    expect(await guard.call('s', proof(5n), ['DEL', 'n'])).toBe(1)
  })

  test('runs a script of the caller, whose keys and arguments are its own', async () => {
    const guard = redisGuard(client)
    const sell = guard.script(`
      local left = tonumber(redis.call('GET', KEYS[1]))
      if left < tonumber(ARGV[1]) then return { #KEYS, #ARGV, 'none' } end
      return { #KEYS, #ARGV, redis.call('DECRBY', KEYS[1], ARGV[1]) }`)
    await client.set('n', 10)
    expect(await sell('s', proof(5n), ['n'], [4])).toEqual([1, 1, 6])
    expect(await sell('s', proof(6n), ['n'], ['4'])).toEqual([1, 1, 2])
    await expect(sell('s', proof(5n), ['n'], [1])).rejects.toMatchObject({ code: 'HF_STALE_TOKEN', newest: 6n })
    expect(await sell('s', proof(6n), ['n'], [4])).toEqual([1, 1, 'none'])
    expect(await guard.script('return { #KEYS, #ARGV }')('s', proof(6n))).toEqual([0, 0])
  })

  test.each(['ioredis', '@redis/client'])('gives the caller of %s what its own script needs', async (kind) => {
    const guard = redisGuard(client)
    const lua = `${fenceLua}
      local newest = holdfast_fence(KEYS[1], ARGV[1], ARGV[2])
      if newest then return redis.error_reply('HFSTALE ' .. newest) end
      return redis.call('INCR', KEYS[2])`
    const other = createClient({ url: server.url })
    other.on('error', () => undefined)
    await other.connect()
    const run = async ({ token, place }: Proof): Promise<unknown> => {
      const [keys, args] = [
        [guard.key('s'), 'n'],
        [String(token), place],
      ]
      if (kind === 'ioredis') return client.eval(lua, keys.length, ...keys, ...args)
      return other.eval(lua, { keys, arguments: args })
    }
    expect(await run(proof(2n ** 62n))).toBe(1)
    const error = await run(proof(2n ** 62n - 1n)).catch((e: unknown) => e)
    expect(staleReply(error, 's', proof(2n ** 62n - 1n))).toMatchObject({ given: 2n ** 62n - 1n, newest: 2n ** 62n })
    expect(staleReply(new Error('HFSTALE 5'), 's', proof(5n))).toBeNull()
    await expect(guard.check('s', proof(2n ** 62n - 1n))).rejects.toMatchObject({ code: 'HF_STALE_TOKEN' })
    other.destroy()
  })

  test('says what went wrong otherwise', async () => {
    const guard = redisGuard(client)
    await client.set('n', 'text')
    await expect(guard.call('s', proof(5n), ['INCR', 'n'])).rejects.toThrow(/not an integer/)
    await client.set(guard.key('t'), 'of somebody else')
    await expect(guard.check('t', proof(5n))).rejects.toThrow(/kept by another program/)
    await client.lpush(guard.key('u'), 'x')
    await expect(guard.check('u', proof(5n))).rejects.toBeInstanceOf(StoreError)
    for (const command of [[], ['GET'], 'GET n', [1, 'n']]) {
      await expect(guard.call('s', proof(5n), command as never)).rejects.toBeInstanceOf(UsageError)
    }
    await expect(guard.check('', proof(5n))).rejects.toBeInstanceOf(UsageError)
    expect(() => redisGuard({} as never)).toThrow(UsageError)
    expect(() => redisGuard(client, { prefix: '{' })).toThrow(UsageError)
    expect(() => redisGuard(client, { ttlMs: 1 } as never)).toThrow(UsageError)
  })

  test('keeps its key in the slot of what it guards', () => {
    const guard = redisGuard(client, { prefix: 'p' })
    const tag = (key: string): string | undefined => /\{([^}]+)\}/.exec(key)?.[1]
    expect(tag(guard.key('stock:42'))).toBe(tag('{stock:42}:n'))
    expect(tag(guard.key('{42}:stock'))).toBe(tag('{42}:n'))
    const names = ['a', '{a}', 'a}', '{a', '{}', '{a}b', 'x{a}', '{{a}}']
    expect(new Set(names.map((name) => guard.key(name))).size).toBe(names.length)
  })
})
