import { describe, expect, it } from 'vitest'
import { UsageError } from '../../src/contract/errors.ts'
import type { LockOptions } from '../../src/contract/options.ts'
import { type Holdfast, holdfast } from '../../src/index.ts'

/** What a user sees of the options: how long the granted lease lasts, in whole seconds. */
async function grantedMs(hf: Holdfast, name: string, options: LockOptions): Promise<number> {
  const held = await hf.mutex(name, options).acquire()
  const remainingMs = held.remainingMs
  await held.release()
  return Math.round(remainingMs / 1_000) * 1_000
}

describe('options that were given before', () => {
  it('count by their values, not by their object', async () => {
    await using hf = await holdfast('memory:')
    for (const ttlMs of [10_000, 20_000, 10_000, 40_000]) {
      expect(await grantedMs(hf, 'a', { ttlMs })).toBe(Math.round((ttlMs * 0.99) / 1_000) * 1_000)
    }
  })

  it('an object that was changed since says what it says now', async () => {
    await using hf = await holdfast('memory:')
    const options = { ttlMs: 10_000 }
    await grantedMs(hf, 'a', options)
    options.ttlMs = 60_000
    expect(await grantedMs(hf, 'a', options)).toBe(59_000)
  })

  it('an object that says less, or more, is another one', async () => {
    await using hf = await holdfast('memory:')
    await grantedMs(hf, 'a', { ttlMs: 10_000, label: 'web' })
    expect(await grantedMs(hf, 'a', { label: 'web' })).toBe(30_000)
    expect(await grantedMs(hf, 'a', { ttlMs: 10_000 })).toBe(10_000)
    const held = await hf.mutex('a', { ttlMs: 10_000, label: 'job' }).acquire()
    for await (const line of hf.list()) expect(line.holders[0]?.label).toBe('job')
    await held.release()
  })

  it('an unknown option is refused, also beside known ones and without a value', async () => {
    await using hf = await holdfast('memory:')
    hf.mutex('a', { ttlMs: 10_000 })
    for (const bad of [{ ttl: undefined }, { ttlMs: 10_000, ttl: undefined }, { ttl: 10_000 }]) {
      expect(() => hf.mutex('a', bad as LockOptions)).toThrow(UsageError)
    }
    expect(() => hf.mutex('a', { ttlMs: -1 })).toThrow(UsageError)
    expect(() => hf.mutex('a', null as unknown as LockOptions)).toThrow(UsageError)
  })

  it('each lock has the callback of its own call', async () => {
    await using hf = await holdfast('memory:')
    const seen: string[] = []
    for (const name of ['a', 'b']) {
      const held = await hf.mutex(name, { onState: () => seen.push(name) }).acquire()
      await held.release()
    }
    expect(new Set(seen)).toEqual(new Set(['a', 'b']))
  })

  it('what an object inherits is asked for anew each time', async () => {
    const base = { ttlMs: 10_000 }
    const options = Object.create(base) as LockOptions
    await using hf = await holdfast('memory:')
    await grantedMs(hf, 'a', options)
    base.ttlMs = 60_000
    expect(await grantedMs(hf, 'a', options)).toBe(59_000)
  })

  it('more kinds of options than are remembered', async () => {
    await using hf = await holdfast('memory:')
    for (let round = 0; round < 2; round++) {
      for (let seconds = 10; seconds < 40; seconds++) {
        expect(await grantedMs(hf, 'a', { ttlMs: seconds * 1_000 })).toBe(Math.round(seconds * 0.99) * 1_000)
      }
    }
    expect(await grantedMs(hf, 'a', {})).toBe(30_000)
  })
})
