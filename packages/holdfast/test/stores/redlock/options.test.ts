import { describe, expect, it } from 'vitest'
import { UnsupportedError, UsageError } from '../../../src/contract/errors.ts'
import { redlock } from '../../../src/stores/redlock/index.ts'
import { parseRedlockUrl } from '../../../src/stores/redlock/options.ts'

describe('redlock options', () => {
  it('takes one login for all servers, or each its own', () => {
    const servers = parseRedlockUrl('redlock://u:p%40@h1:1,h2:2,v:q@h3/4')
    expect(servers).toEqual([
      { host: 'h1', port: 1, username: 'u', password: 'p@', db: 4 },
      { host: 'h2', port: 2, username: 'u', password: 'p@', db: 4 },
      { host: 'h3', username: 'v', password: 'q', db: 4 },
    ])
  })

  it('repeats nothing of a URL that it can not read', () => {
    for (const url of ['redlock://', 'redlock://u:secret@h1,h2?x=1', 'redlock:secret']) {
      expect(() => parseRedlockUrl(url)).toThrow(UsageError)
      expect(() => parseRedlockUrl(url)).not.toThrow(/secret/)
    }
  })

  it.each([
    [2, 1],
    [3, 1],
    [4, 2],
    [5, 2],
    [5, 6],
  ])('refuses of %i servers a quorum of %i', (servers, quorum) => {
    const urls = Array.from({ length: servers }, (_, i) => `redis://127.0.0.1:${7_000 + i}`)
    expect(() => redlock(urls, { quorum })).toThrow(/quorum must be/)
  })

  it('refuses one server, and one server twice', () => {
    expect(() => redlock('redlock://h1')).toThrow(/for one server use redis/)
    expect(() => redlock('redlock://h1,h2,h1:6379')).toThrow(/given twice/)
    expect(() => redlock([])).toThrow(UsageError)
    expect(() => redlock(5 as unknown as string)).toThrow(UsageError)
    expect(() => redlock(['redis://h1', {} as never, 'redis://h2'])).toThrow(/a client of ioredis/)
  })

  it('refuses permits, and gives the reason', async () => {
    const driver = redlock('redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3')
    const entry = { line: 'x', id: 'a'.repeat(32), weight: 1, capacity: 2, ttlMs: 1_000, data: '{}' }
    await expect(driver.enter(entry, true)).rejects.toThrow(UnsupportedError)
    await expect(driver.enter({ ...entry, weight: 2, capacity: 1_000_000 }, true)).rejects.toThrow(/three clients/)
    await driver.close()
  })
})
