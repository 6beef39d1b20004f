import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { StoreUnreachableError } from '../../src/contract/errors.ts'
import { addressesOf, orRefused } from '../../src/cli/refused.ts'

const never = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))

describe('addressesOf', () => {
  it.each([
    ['redis://h', ['h:6379']],
    ['rediss://user:p%40ss@h:1/2?ttlMs=5', ['h:1']],
    ['redis+sentinel://a,b:7/main', ['a:26379', 'b:7']],
    ['redlock://a:1,b:2,c', ['a:1', 'b:2', 'c:6379']],
    ['postgres://u@[::1]/db', ['::1:5432']],
    ['mysql://u@h:3307/db', ['h:3307']],
    ['zookeeper://a,b/chroot', ['a:2181', 'b:2181']],
    ['etcds://h', ['h:2379']],
    ['postgres:///db?host=/run', []],
    ['sqlite:/tmp/x.db', []],
    ['memory:', []],
  ])('finds the servers in %s', (url, servers) => {
    expect(addressesOf(url).map(({ host, port }) => `${host}:${port}`)).toEqual(servers)
  })
})

describe('orRefused', () => {
  /** A port of this machine that nobody listens on, or somebody does. */
  async function listening<T>(work: (port: number, close: () => Promise<void>) => Promise<T>): Promise<T> {
    const server = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const close = (): Promise<void> => new Promise((resolve) => server.close(() => resolve()))
    try {
      return await work((server.address() as { port: number }).port, close)
    } finally {
      if (server.listening) await close()
    }
  }

  it('ends the work when every server refuses', async () => {
    await listening(async (port, close) => {
      await close()
      const refused = orRefused(`redlock://127.0.0.1:${port},127.0.0.1:${port}`, never)
      await expect(refused).rejects.toThrow(StoreUnreachableError)
      await expect(refused).rejects.toThrow(/can't be reached: connect ECONNREFUSED/)
    })
  })

  it('lets the work go on when a server listens, and passes its own end on', async () => {
    await listening(async (port) => {
      const slow = (): Promise<string> => new Promise((resolve) => setTimeout(() => resolve('done'), 1_500))
      expect(await orRefused(`redlock://127.0.0.1:1,127.0.0.1:${port}`, slow)).toBe('done')
      await expect(orRefused(`redis://127.0.0.1:${port}`, () => Promise.reject(new Error('own')))).rejects.toThrow(
        'own',
      )
    })
  })
})
