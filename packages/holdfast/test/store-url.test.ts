/** Store URLs: options as query, wrong ones refused, passwords never shown. */
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { memory } from '../src/stores/memory/index.ts'
import { holdfast, HoldfastError, UsageError } from '../src/index.ts'

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

test.each([
  // A ? that is not written %3F: the query begins inside the password.
  'redis://ann:c4n4ry?c4n4ry@127.0.0.1:6379',
  'redis://:c4n4ry?ttlMs=c4n4ry@127.0.0.1',
  'redis://:c4n4ry?report=c4n4ry@127.0.0.1',
  'redis+sentinel://ann:c4n4ry?label=c4n4ry@127.0.0.1/primary',
  'zookeeper://ann:c4n4ry?layout=c4n4ry@127.0.0.1',
  // A / that is not written %2F.
  'redis://ann:c4n4ry/c4n4ry@127.0.0.1',
  'postgres://ann:1/c4n4ry@127.0.0.1/db',
  'mysql://ann:1/c4n4ry@127.0.0.1/db',
  'zookeeper://ann:c4n4ry/c4n4ry@127.0.0.1/app',
  'etcd://ann:c4n4ry/c4n4ry@127.0.0.1',
  // A % that is no escape, a # and spaces.
  'redis://ann:c4n4ry%zz@127.0.0.1',
  'redis+cluster://ann:c4n4ry%zz@127.0.0.1',
  'redlock://ann:c4n4ry%zz@127.0.0.1,127.0.0.2',
  'etcd://ann:c4n4ry%zz@127.0.0.1',
  'zookeeper://ann:c4n4ry%zz@127.0.0.1',
  'redis://ann:c4n4ry#c4n4ry@127.0.0.1',
  'postgres://ann:c4n4ry#c4n4ry@127.0.0.1/db?sslmode=require',
  'mysql://ann:c4n4ry@127.0.0.1:port/db',
])('a URL that can not be read is refused without any part of its password: %s', async (url) => {
  const error: unknown = await holdfast(url, { connectTimeoutMs: 50 }).catch((caught: unknown) => caught)
  expect(error).toBeInstanceOf(HoldfastError)
  expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('c4n4ry')
})

test('a wrong escape in the path of a Sentinel URL is a UsageError', async () => {
  await expect(holdfast('redis+sentinel://127.0.0.1/%zz')).rejects.toThrow(UsageError)
})

test('what is no password may have an @: a label, a host in brackets', async () => {
  const hf = await holdfast('memory:x?label=ann@host')
  await hf.close()
  const error: unknown = await holdfast('redis://[::1]:1?label=ann@host', { connectTimeoutMs: 50 }).catch(
    (e: unknown) => e,
  )
  expect(error).not.toBeInstanceOf(UsageError)
})
