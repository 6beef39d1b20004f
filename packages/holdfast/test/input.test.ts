/** Bad input is refused before any I/O, with a typed error that says what was given and what is allowed. */
import { describe, expect, test } from 'vitest'
import { memory } from '../src/stores/memory/index.ts'
import { holdfast, type HoldfastOptions, type LockOptions, UsageError } from '../src/index.ts'

const BAD_LOCK_OPTIONS: [object, RegExp][] = [
  [{ ttlMs: 0 }, /ttlMs must be a whole number from 1 to 86400000, given 0/],
  [{ ttlMs: -5 }, /given -5/],
  [{ ttlMs: Number.NaN }, /given NaN/],
  [{ ttlMs: 1.5 }, /given 1.5/],
  [{ ttlMs: 86_400_001 }, /given 86400001/],
  [{ ttlMs: Number.POSITIVE_INFINITY }, /given Infinity/],
  [{ ttlMs: '30s' }, /given "30s"/],
  [{ renew: 1 }, /renew must be true or false, given 1/],
  [{ maxHoldMs: 0 }, /maxHoldMs .* at least 1.* given 0/],
  [{ maxHoldMs: Number.NaN }, /given NaN/],
  [{ fairness: 'fair' }, /fairness must be one of local, strict, given "fair"/],
  [{ handovers: 1024 }, /handovers must be a whole number from 0 to 1023, given 1024/],
  [{ handovers: -1 }, /given -1/],
  [{ reentrant: 'yes' }, /reentrant must be true or false/],
  [{ label: 'x'.repeat(201) }, /label must be .* at most 200 bytes/],
  [{ label: '\ud800' }, /well-formed/],
  [{ label: 7 }, /given 7/],
  [{ onState: 'log' }, /onState must be a function, given "log"/],
  [{ ttl: 30 }, /has no option "ttl"; there are ttlMs/],
]

describe('options of a lock', () => {
  for (const [options, message] of BAD_LOCK_OPTIONS) {
    test(`${JSON.stringify(options).slice(0, 60)} is refused, on an instance and on a lock`, async () => {
      const hf = await holdfast('memory:')
      expect(() => hf.mutex('a', options as LockOptions)).toThrow(UsageError)
      expect(() => hf.rwLock('a', options as LockOptions)).toThrow(message)
      expect(() => hf.semaphore('a', 2, options as LockOptions)).toThrow(message)
      await expect(holdfast('memory:', options as HoldfastOptions)).rejects.toThrow(UsageError)
      await expect(holdfast(memory(), options as HoldfastOptions)).rejects.toThrow(message)
    })
  }

  test('what is no object at all is refused', async () => {
    const hf = await holdfast('memory:')
    expect(() => hf.mutex('a', 7 as LockOptions)).toThrow(/lock options must be an object, given 7/)
    expect(() => hf.mutex('a', [] as LockOptions)).toThrow(UsageError)
    await expect(hf.mutex('a').acquire(null as never)).rejects.toThrow(UsageError)
  })

  test('a lock option overrides that of the instance, and undefined does not', async () => {
    const hf = await holdfast('memory:', { ttlMs: 5_000, label: 'all' })
    const held = await hf.mutex('a', { ttlMs: undefined as never }).acquire()
    expect(held.remainingMs).toBeLessThanOrEqual(5_000)
    for await (const line of hf.list()) expect(line.holders[0]?.label).toBe('all')
  })
})

describe('options of an instance', () => {
  test.each([
    [{ prefix: '' }, /prefix must be 1 to 128 bytes/],
    [{ prefix: 'x'.repeat(129) }, /prefix/],
    [{ connectTimeoutMs: 0 }, /connectTimeoutMs must be a whole number from 1 to 600000, given 0/],
    [{ silenceMs: 10 }, /silenceMs/],
    [{ heartbeat: 'thread' }, /heartbeat must be one of main, worker/],
    [{ retries: 3 }, /options has no option "retries"/],
  ])('%j is refused', async (options, message) => {
    await expect(holdfast('memory:', options as HoldfastOptions)).rejects.toThrow(message)
    await expect(holdfast('memory:', options as HoldfastOptions)).rejects.toBeInstanceOf(UsageError)
  })

  test('a worker heartbeat needs a store that a worker can open', async () => {
    await expect(holdfast('memory:', { heartbeat: 'worker' })).rejects.toThrow(UsageError)
    await expect(holdfast(memory(), { heartbeat: 'worker' })).rejects.toThrow(UsageError)
  })
})

describe('options of an acquisition', () => {
  test.each([
    [{ waitMs: -1 }, /waitMs/],
    [{ waitMs: Number.NaN }, /waitMs/],
    [{ waitMs: '10' }, /given "10"/],
    [{ signal: {} }, /signal must be an AbortSignal/],
    [{ owner: 'me' }, /owner must be an object or a symbol, given "me"/],
    [{ owner: null }, /owner/],
    [{ permits: 2 }, /has no option "permits"/],
    [{ timeout: 5 }, /has no option "timeout"/],
  ])('%j is refused by all three methods', async (options, message) => {
    const mutex = (await holdfast('memory:')).mutex('a')
    await expect(mutex.acquire(options as never)).rejects.toThrow(message)
    await expect(mutex.using(() => 1, options as never)).rejects.toThrow(UsageError)
    await expect(mutex.tryAcquire(options as never)).rejects.toThrow(UsageError)
  })

  test('tryAcquire has no waitMs', async () => {
    const mutex = (await holdfast('memory:')).mutex('a')
    await expect(mutex.tryAcquire({ waitMs: 5 } as never)).rejects.toThrow(/has no option "waitMs"/)
  })

  test.each([0, -1, 1.5, Number.NaN, 1_000_001, '3', null, undefined])(
    '%s permits make no semaphore',
    async (permits) => {
      const hf = await holdfast('memory:')
      expect(() => hf.semaphore('a', permits as number)).toThrow(UsageError)
    },
  )

  test.each([0, -1, 4, 1.5, '1'])('%s of 3 permits are refused', async (permits) => {
    const semaphore = (await holdfast('memory:')).semaphore('a', 3)
    await expect(semaphore.acquire({ permits: permits as number })).rejects.toThrow(
      /permits must be a whole number from 1 to 3/,
    )
    await expect(semaphore.tryAcquire({ permits: permits as number })).rejects.toThrow(UsageError)
  })
})
