/** Commands, replies and scripts on a real server, in RESP3 and in RESP2. */
import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Connection, script } from '../../../src/clients/redis/index.ts'
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

describe.each([3, 2] as const)('RESP%i', (protocol) => {
  let connection: Connection

  beforeEach(async () => {
    connection = new Connection({ port: server.port, protocol, commandTimeoutMs: 30_000 })
    await connection.connect()
    await connection.command(['FLUSHALL'])
  })

  afterEach(() => connection.close())

  test('speaks the protocol that was asked for', async () => {
    expect(connection.protocol).toBe(protocol)
  })

  test('binary goes and comes unchanged, in keys, values and arguments of scripts', async () => {
    const every = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
    const large = randomBytes(3_000_000)
    for (const value of [every, large, Buffer.alloc(0), Buffer.from('\r\n$-1\r\n')]) {
      expect(await connection.command(['SET', every, value])).toBe('OK')
      const stored = (await connection.command(['GET', every], { buffers: true })) as Buffer
      const passed = (await connection.run(script('return ARGV[1]'), [every], [value], { buffers: true })) as Buffer
      // Not toEqual, which takes seconds for each megabyte.
      expect([stored.equals(value), passed.equals(value)]).toEqual([true, true])
    }
    expect(await connection.command(['STRLEN', every])).toBe(7)
  })

  test('text goes and comes as UTF-8', async () => {
    const text = 'é…😀'.repeat(1_000)
    await connection.command(['SET', 'clé', text])
    expect(await connection.command(['GET', 'clé'])).toBe(text)
    expect(await connection.command(['STRLEN', 'clé'])).toBe(Buffer.byteLength(text))
  })

  test('Buffers are given to the command that wants them, and to no other', async () => {
    await connection.command(['MSET', 'a', '1', 'b', '2'])
    const mget = ['MGET', 'a', 'none', 'b']
    const [before, wanted, after] = await Promise.all([
      connection.command(mget),
      connection.command(mget, { buffers: true }),
      connection.command(mget),
    ])
    expect(before).toEqual(['1', null, '2'])
    expect(wanted).toEqual([Buffer.from('1'), null, Buffer.from('2')])
    expect(after).toEqual(['1', null, '2'])
  })

  test('big integers keep every digit', async () => {
    await connection.command(['SET', 'n', '9007199254740991'])
    expect(await connection.command(['INCRBY', 'n', 0])).toBe(9007199254740991)
    expect(await connection.command(['INCR', 'n'])).toBe(9007199254740992n)
    expect(await connection.command(['INCR', 'n'])).toBe(9007199254740993n)
    await connection.command(['SET', 'n', '-9223372036854775807'])
    expect(await connection.command(['DECR', 'n'])).toBe(-9223372036854775808n)
  })

  test('100 000 commands in one go are answered in order', async () => {
    const count = 100_000
    const replies = await Promise.all(Array.from({ length: count }, () => connection.command(['INCR', 'n'])))
    expect(replies.every((reply, index) => reply === index + 1)).toBe(true)
    expect(replies).toHaveLength(count)
  })

  test('nested replies, and an error inside an array', async () => {
    const lua = "return {1, {'a', {'b'}}, redis.error_reply('MINE is odd'), false}"
    const reply = await connection.run(script(lua), [], [])
    expect(reply).toMatchObject([1, ['a', ['b']], { reply: 'MINE is odd', kind: 'MINE' }, null])
  })

  test('error replies carry their kind', async () => {
    await connection.command(['SET', 's', 'text'])
    await expect(connection.command(['LPUSH', 's', 'x'])).rejects.toMatchObject({ kind: 'WRONGTYPE', code: 'HF_STORE' })
    await expect(connection.command(['EVALSHA', 'f'.repeat(40), 0])).rejects.toMatchObject({ kind: 'NOSCRIPT' })
    await expect(connection.command(['NOPE'])).rejects.toMatchObject({ kind: 'ERR' })
    await expect(connection.command(['INCR', 's'])).rejects.toThrow('ERR value is not an integer or out of range')
  })

  test('a script that the server does not know is loaded, also after SCRIPT FLUSH, also many at a time', async () => {
    const add = script("return redis.call('INCRBY', KEYS[1], ARGV[1])")
    for (let round = 1; round <= 3; round++) {
      const sums = await Promise.all(Array.from({ length: 50 }, () => connection.run(add, ['sum'], [1])))
      expect(new Set(sums).size).toBe(50)
      expect(await connection.command(['GET', 'sum'])).toBe(String(round * 50))
      expect(await connection.command(['SCRIPT', 'EXISTS', add.sha1])).toEqual([1])
      await connection.command(['SCRIPT', 'FLUSH'])
    }
  })

  test('a reply past maxReplyBytes is refused, and the connection comes back', async () => {
    const small = new Connection({ port: server.port, protocol, maxReplyBytes: 100_000 })
    await connection.command(['SET', 'large', Buffer.alloc(100_001)])
    await expect(small.command(['GET', 'large'])).rejects.toThrow('larger than 100000 bytes')
    expect(await small.command(['PING'])).toBe('PONG')
    await small.close()
  })
})

test('the types of RESP3', async () => {
  const connection = new Connection({ port: server.port })
  const types: readonly [string, unknown][] = [
    ['string', 'Hello World'],
    ['integer', 12345],
    ['double', 3.141],
    ['null', null],
    ['array', [0, 1, 2]],
    ['set', new Set([0, 1, 2])],
    [
      'map',
      new Map([
        [0, false],
        [1, true],
        [2, false],
      ] as [number, boolean][]),
    ],
    ['attrib', 'Some real reply following the attribute'],
    ['bignum', 1234567999999999999999999999999999999n],
    ['verbatim', 'This is a verbatim\nstring'],
    ['true', true],
    ['false', false],
  ]
  for (const [type, value] of types) expect(await connection.command(['DEBUG', 'PROTOCOL', type])).toEqual(value)
  await connection.close()
})
