/** The time limit on a foreign client: every command settles, once, and in time. */
import { expect, test } from 'vitest'
import { StoreUnreachableError } from '../../../src/core/errors.ts'
import { Patience } from '../../../src/drivers/redis/limit.ts'

const never = (): Promise<string> => new Promise(() => undefined)

test('settles as the promise does', async () => {
  const patience = new Patience(20_000, 'here')
  await expect(patience.limit(Promise.resolve('yes'))).resolves.toBe('yes')
  await expect(patience.limit(Promise.reject(new Error('no')))).rejects.toThrow('no')
})

test('what has no answer is told in time, and those around it are not harmed', async () => {
  const patience = new Patience(30, 'here')
  const answered = patience.limit(Promise.resolve('before'))
  const silent = [patience.limit(never()), patience.limit(never())]
  for (const one of await Promise.allSettled(silent)) {
    expect(one.status === 'rejected' && one.reason).toBeInstanceOf(StoreUnreachableError)
    expect(one.status === 'rejected' && String(one.reason)).toContain('Redis at here gave no answer within 30 ms')
  }
  await expect(answered).resolves.toBe('before')
  await expect(patience.limit(Promise.resolve('after'))).resolves.toBe('after')
  await expect(patience.limit(never())).rejects.toBeInstanceOf(StoreUnreachableError)
})

test('another promise may stand in for an error, within the same limit', async () => {
  const patience = new Patience(30, 'here')
  const again = (reason: unknown): Promise<string> | null =>
    String(reason).includes('NOSCRIPT') ? Promise.resolve('by its text') : null
  await expect(patience.limit(Promise.reject(new Error('NOSCRIPT')), again)).resolves.toBe('by its text')
  await expect(patience.limit(Promise.reject(new Error('OOM')), again)).rejects.toThrow('OOM')
  await expect(patience.limit(Promise.reject(new Error('NOSCRIPT')), () => never())).rejects.toBeInstanceOf(
    StoreUnreachableError,
  )
})
