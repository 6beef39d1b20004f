/** The time limit on a foreign client: every command settles, once, and in time. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { StoreUnreachableError } from '../../../src/contract/errors.ts'
import { CommandDeadlines, within } from '../../../src/stores/redis/deadline.ts'
import { blockFor } from '../../blocked.ts'

const never = (): Promise<string> => new Promise(() => undefined)

test('settles as the promise does', async () => {
  const deadlines = new CommandDeadlines(20_000, 'here')
  await expect(deadlines.limit(Promise.resolve('yes'))).resolves.toBe('yes')
  await expect(deadlines.limit(Promise.reject(new Error('no')))).rejects.toThrow('no')
})

test('what has no answer is told in time, and those around it are not harmed', async () => {
  const deadlines = new CommandDeadlines(30, 'here')
  const answered = deadlines.limit(Promise.resolve('before'))
  const silent = [deadlines.limit(never()), deadlines.limit(never())]
  for (const one of await Promise.allSettled(silent)) {
    expect(one.status === 'rejected' && one.reason).toBeInstanceOf(StoreUnreachableError)
    expect(one.status === 'rejected' && String(one.reason)).toContain('Redis at here gave no answer within 30 ms')
  }
  await expect(answered).resolves.toBe('before')
  await expect(deadlines.limit(Promise.resolve('after'))).resolves.toBe('after')
  await expect(deadlines.limit(never())).rejects.toBeInstanceOf(StoreUnreachableError)
})

test('another promise may stand in for an error, within the same limit', async () => {
  const deadlines = new CommandDeadlines(30, 'here')
  const again = (reason: unknown): Promise<string> | null =>
    String(reason).includes('NOSCRIPT') ? Promise.resolve('by its text') : null
  await expect(deadlines.limit(Promise.reject(new Error('NOSCRIPT')), again)).resolves.toBe('by its text')
  await expect(deadlines.limit(Promise.reject(new Error('OOM')), again)).rejects.toThrow('OOM')
  await expect(deadlines.limit(Promise.reject(new Error('NOSCRIPT')), () => never())).rejects.toBeInstanceOf(
    StoreUnreachableError,
  )
})

test('an answer that waits in the socket counts, although the timer is due', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const here = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [there] = (await once(server, 'connection')) as [Socket]
  const answer = once(here, 'data').then(String)
  const settled = Promise.all([new CommandDeadlines(100, 'here').limit(answer), within(answer, 100, 'here')])
  there.write('yes')
  blockFor(300)
  expect(await settled).toEqual(['yes', 'yes'])
  for (const socket of [here, there]) socket.destroy()
  server.close()
})
