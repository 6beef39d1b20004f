/** Store URLs: options as query, wrong ones refused, passwords never shown. */
import { expect, test } from 'vitest'
import { memory } from '../src/stores/memory/index.ts'
import { holdfast, UsageError } from '../src/index.ts'

test('options may stand in the URL, and code wins over it', async () => {
  const hf = await holdfast('memory:?ttlMs=5000&label=from-url&renew=false')
  const held = await hf.mutex('a').acquire()
  expect(held.remainingMs).toBeLessThanOrEqual(5_000)
  const other = await holdfast('memory:?ttlMs=5000', { ttlMs: 60_000 })
  expect((await other.mutex('a').acquire()).remainingMs).toBeGreaterThan(5_000)
})

test('memory stores of one name are one store', async () => {
  const [a, b] = [await holdfast('memory:shared'), await holdfast(new URL('memory:shared'))]
  const held = await a.mutex('x').acquire()
  expect(await b.mutex('x').tryAcquire()).toBeNull()
  await held.release()
})

test('memory stores of one name and two prefixes are two stores; a driver has its prefix already', async () => {
  const [a, b] = [await holdfast('memory:parted?prefix=a'), await holdfast('memory:parted', { prefix: 'b' })]
  const held = await a.mutex('x').acquire()
  expect(await (await holdfast('memory:parted?prefix=a')).mutex('x').tryAcquire()).toBeNull()
  expect(await b.mutex('x').tryAcquire()).not.toBeNull()
  await held.release()
  await expect(holdfast(memory(), { prefix: 'a' })).rejects.toThrow(UsageError)
})

test.each([
  ['', /must begin with one of/],
  ['localhost:6379', /must begin with one of/],
  ['ftp://x', /must begin with one of/],
  ['memory:?ttl=5', /no option "ttl"/],
  ['memory:?ttlMs=soon', /ttlMs in the store URL must be a number/],
  ['memory:?ttlMs=', /must be a number/],
  ['memory:?ttlMs=1&ttlMs=2', /twice/],
  ['memory:?renew=maybe', /must be true or false/],
  ['memory:?ttlMs=0', /from 1 to/],
])('%s is refused', async (url, message) => {
  await expect(holdfast(url)).rejects.toThrow(UsageError)
  await expect(holdfast(url)).rejects.toThrow(message)
})

test.each([7, null, {}, [], true])('%s is no store', async (store) => {
  await expect(holdfast(store as string)).rejects.toThrow(UsageError)
})

test('a password never comes out in an error', async () => {
  for (const url of [
    'redsi://user:s3cret@host:1/0',
    'redsi://:s3cret@host',
    'redsi://user:s3c/ret@host/s3cret@',
    'nope://user:p@s3cret@h1,h2/x?password=s3cret',
  ]) {
    const error: unknown = await holdfast(url).then(
      () => null,
      (reason: unknown) => reason,
    )
    expect(error).toBeInstanceOf(UsageError)
    expect((error as Error).message, url).not.toContain('s3cret')
  }
})
