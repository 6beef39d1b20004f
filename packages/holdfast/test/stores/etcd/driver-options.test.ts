import { describe, expect, test } from 'vitest'
import { UsageError } from '../../../src/contract/errors.ts'
import { checkPrefix, LineLayout } from '../../../src/stores/etcd/keys.ts'
import { resolveEtcd } from '../../../src/stores/etcd/options.ts'

describe('addresses', () => {
  test('one or several members, with and without port, user and TLS', () => {
    expect(resolveEtcd('etcd://h1').client.endpoints).toEqual(['http://h1'])
    expect(resolveEtcd('etcd://h1:1,h2:2,[::1]:3').client.endpoints).toEqual([
      'http://h1:1',
      'http://h2:2',
      'http://[::1]:3',
    ])
    const { client } = resolveEtcd(new URL('etcds://me:p%40ss%3A%2F@h1:2379'))
    expect(client).toMatchObject({ endpoints: ['https://h1:2379'], user: 'me', password: 'p@ss:/' })
    expect(resolveEtcd({ endpoints: ['http://h'], prefix: 'x' }).prefix).toBe('x')
    expect(resolveEtcd('etcd://h?prefix=y').prefix).toBe('y')
    expect(resolveEtcd('etcd://h').prefix).toBe('holdfast')
  })

  test.each([
    'etcd:',
    'etcd://',
    'etcd://me@h',
    'etcd://:secret@h',
    'etcd://me:se:cret@h',
    'etcd://me:secret%@h',
    'etcd://h/secret/b',
    'redis://me:secret@h',
  ])('refused, without the password: %s', (url) => {
    expect(() => resolveEtcd(url)).toThrow(UsageError)
    expect(() => resolveEtcd(url)).not.toThrow(/secret/)
  })

  test('contradictions and unknown members are refused', () => {
    expect(() => resolveEtcd({})).toThrow(UsageError)
    expect(() => resolveEtcd({ url: 'etcd://h', endpoints: ['http://h'] })).toThrow(UsageError)
    expect(() => resolveEtcd({ url: 'etcd://h', ttl: 1 } as never)).toThrow(UsageError)
    expect(() => resolveEtcd({ url: 'etcd://h', timeoutMs: 0 })).toThrow(UsageError)
  })
})

describe('keys', () => {
  const keys = new LineLayout('holdfast')

  test('names are read back, and none lies within another', () => {
    const names = ['a', 'a/b', 'a%2Fb', 'a%', '%', '/', '//', '\u0000', '\n', '\u0085', '锁', '🔒', 'a0', 'a/1/1/x']
    const lines = names.map((name) => ({ name, line: keys.line(name) }))
    for (const { name, line } of lines) {
      const key = Buffer.from(keys.place(line, { capacity: 5, weight: 2, id: 'ff' }))
      expect(keys.read(key)).toEqual({ name, capacity: 5, weight: 2, slot: 'ff' })
      expect(keys.weight(key.toString())).toBe(2)
      const within = lines.filter(({ line: { start, end } }) => key.compare(start) >= 0 && key.compare(end) < 0)
      expect(within.map((found) => found.name)).toEqual([name])
    }
  })

  test('a prefix of a name is a prefix of its keys, and of no others', () => {
    const { start, end } = keys.lines('a/')
    const inside = (name: string): boolean => {
      const key = keys.line(name).start
      return key.compare(start) >= 0 && key.compare(end) < 0
    }
    expect(['a/', 'a/b', 'a/锁'].every(inside)).toBe(true)
    expect(['a', 'a0', 'a%2F', 'b'].some(inside)).toBe(false)
  })

  test('keys of a capacity lie between its bounds, those of all others outside', () => {
    const line = keys.line('n')
    const { start, end } = keys.capacityBounds(line, 10)
    const isInside = (capacity: number): boolean => {
      const key = Buffer.from(keys.place(line, { capacity, weight: 1, id: 'ff' }))
      return key.compare(start) >= 0 && key.compare(end) < 0
    }
    expect([1, 2, 9, 10, 11, 100, 101, 1_000_000].filter(isInside)).toEqual([10])
  })

  test('what is none of ours is not read', () => {
    for (const key of ['holdfast/line/a', 'holdfast/line/a/1/1', 'holdfast/line/a/0/1/x', 'other/line/a/1/1/x']) {
      expect(keys.read(Buffer.from(key))).toBeNull()
    }
    expect(() => keys.weight('holdfast/line/a/x')).toThrow(/remove it/)
  })

  test('a prefix that would write into the lines of another is refused', () => {
    for (const prefix of ['', 'a/line', 'a/line/b', 'cell', 'x'.repeat(129)])
      expect(() => checkPrefix(prefix)).toThrow(UsageError)
    for (const prefix of ['a', 'a/b', '/a/', 'lines', 'app:锁']) expect(checkPrefix(prefix)).toBe(prefix)
  })
})
