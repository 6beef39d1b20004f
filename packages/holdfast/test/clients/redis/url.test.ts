/** URLs and options: what they mean, and that no error of theirs repeats a password. */
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { UsageError } from '../../../src/contract/errors.ts'
import { Connection } from '../../../src/clients/redis/connection.ts'
import type { ConnectionOptions } from '../../../src/clients/redis/options.ts'
import { parseRedisUrl } from '../../../src/clients/redis/url.ts'

describe('parseRedisUrl', () => {
  test.each<[string, ConnectionOptions]>([
    ['redis://localhost', { host: 'localhost' }],
    ['redis://localhost/', { host: 'localhost' }],
    ['redis://10.0.0.1:7000/3', { host: '10.0.0.1', port: 7000, db: 3 }],
    ['rediss://cache.example', { host: 'cache.example', tls: true }],
    ['redis://:secret@h', { host: 'h', password: 'secret' }],
    ['redis://ann:p%40ss%2Fw%C3%A9%25@h:1/0', { host: 'h', port: 1, username: 'ann', password: 'p@ss/wé%', db: 0 }],
    ['redis://[::1]:6380', { host: '::1', port: 6380 }],
  ])('%s', (url, options) => {
    expect(parseRedisUrl(url)).toEqual(options)
    expect(parseRedisUrl(new URL(url))).toEqual(options)
  })

  test.each([
    'redis://u:hunter2@',
    'http://u:hunter2@h',
    'redis://u:hunter2@h/db',
    'redis://u:hunter2@h/-1',
    'redis://u:hunter2@h:99999',
    'redis://u:hunter2@h:0',
    'redis://u:hunter2@h?x=1',
    'redis://u:hunter2@h#x',
    'redis://u:hunter2#x@h',
    'redis://u:hunter2/x@h',
    'redis://u:1/hunter2@h',
    'redis://u:hunter2%zz@h',
    'redis://u:hunter2%ff@h',
    'redis://hunter2@h',
    'u:hunter2@h',
    'redis:',
    '',
  ])('refuses %s and does not repeat it', (url) => {
    let caught: unknown
    try {
      parseRedisUrl(url)
    } catch (error) {
      caught = error
    }
    expect(caught).toBeInstanceOf(UsageError)
    expect(inspect(caught, { depth: 9, showHidden: true })).not.toContain('hunter2')
  })
})

describe('options', () => {
  test.each<[string, ConnectionOptions]>([
    ['port', { port: 0 }],
    ['port', { port: 65_536 }],
    ['db', { db: -1 }],
    ['db', { db: 1.5 }],
    ['connectTimeoutMs', { connectTimeoutMs: 0 }],
    ['commandTimeoutMs', { commandTimeoutMs: Number.NaN }],
    ['commandTimeoutMs', { commandTimeoutMs: 2 ** 31 }],
    ['backoffMinMs', { backoffMinMs: 0 }],
    ['backoffMaxMs', { backoffMaxMs: Number.POSITIVE_INFINITY }],
    ['queueLimit', { queueLimit: -1 }],
    ['maxReplyBytes', { maxReplyBytes: 1 }],
    ['host', { host: '' }],
    ['clientName', { clientName: 'a b' }],
    ['username', { username: 'ann' }],
    ['protocol', { protocol: 4 as 3 }],
    ['tls', { tls: { ca: 'x', cert: 'no certificate', key: 'no key' } }],
    ['offline', { offline: 'maybe' as 'wait' }],
  ])('%s out of range: %o', (name, options) => {
    expect(() => new Connection(options)).toThrow(UsageError)
    expect(() => new Connection(options)).toThrow(name)
  })

  test('a connection shows no password when it is printed', () => {
    expect(inspect(new Connection({ password: 'hunter2' }), { depth: 9, showHidden: true })).not.toContain('hunter2')
  })
})
