/** Limits, costs and bits that make no sense are refused before any I/O. */
import { describe, expect, test } from 'vitest'
import type { Driver } from '../../../src/contract/driver.ts'
import { memory } from '../../../src/stores/memory/index.ts'
import { type Holdfast, holdfast, type LimiterOptions, UsageError } from '../../../src/index.ts'

/** A store that must not be asked. */
async function untouchable(): Promise<Holdfast> {
  const never = async (): Promise<never> => {
    throw new Error('the store was asked')
  }
  const { traits } = memory()
  const driver = { name: 'untouchable', traits, take: never, swap: never, enter: never, touch: never, list: never }
  return holdfast({ ...driver, close: async () => {} } as unknown as Driver)
}

const FINE: LimiterOptions = { limit: 10, perMs: 1_000 }

describe('limits', () => {
  for (const [options, message] of [
    [{ ...FINE, limit: 0 }, /limit must be a whole number from 1 to 1000000000, given 0/],
    [{ ...FINE, limit: -1 }, /given -1/],
    [{ ...FINE, limit: Number.NaN }, /given NaN/],
    [{ ...FINE, limit: 1.5 }, /given 1.5/],
    [{ ...FINE, limit: 1e12 }, /given 1000000000000/],
    [{ ...FINE, limit: Number.POSITIVE_INFINITY }, /given Infinity/],
    [{ ...FINE, limit: '10' }, /given "10"/],
    [{ perMs: 1_000 }, /limit must be .* given undefined/],
    [{ ...FINE, perMs: 0 }, /perMs must be a whole number from 1/],
    [{ ...FINE, perMs: 0.5 }, /given 0.5/],
    [{ ...FINE, perMs: -7 }, /given -7/],
    [{ ...FINE, perMs: 1e15 }, /given 1000000000000000/],
    [{ ...FINE, burst: 0 }, /burst must be .* given 0/],
    [{ ...FINE, burst: 2.5 }, /given 2.5/],
    [{ ...FINE, burst: Number.NaN }, /given NaN/],
    [{ limit: 999_999_999, perMs: 2_678_399_999, burst: 1_000_000_000 }, /burst must be at most \d+ for .* exactly/],
    [{ ...FINE, whenDown: 'ajar' }, /whenDown must be one of open, closed/],
    [{ ...FINE, penalty: { after: 0, shutMs: 5 } }, /penalty.after must be .* given 0/],
    [{ ...FINE, penalty: { after: 1, shutMs: 0 } }, /penalty.shutMs must be .* given 0/],
    [{ ...FINE, penalty: 5 }, /penalty must be an object, given 5/],
    [{ ...FINE, batch: { size: 11 } }, /batch.size must be a whole number from 2 to 10, given 11/],
    [{ ...FINE, batch: { size: 5, holdMs: 0 } }, /batch.holdMs/],
    [{ ...FINE, burst: 1, batch: { size: 2 } }, /batch needs a burst of at least 2/],
    [{ ...FINE, batch: { size: 5 }, penalty: { after: 1, shutMs: 5 } }, /exclude each other/],
    [{ ...FINE, per: 5 }, /has no option "per"/],
    [undefined, /limit must be/],
  ] as [LimiterOptions, RegExp][]) {
    test(`${JSON.stringify(options)} is refused`, async () => {
      const hf = await untouchable()
      expect(() => hf.limiter('a', options)).toThrow(UsageError)
      expect(() => hf.limiter('a', options)).toThrow(message)
    })
  }

  test.each([0, -1, Number.NaN, 1.5, 11, 1e300, Number.POSITIVE_INFINITY, '1', null])(
    'a cost of %s is refused',
    async (cost) => {
      const limiter = (await untouchable()).limiter('a', FINE)
      await expect(limiter.take('k', cost as number)).rejects.toThrow(UsageError)
      await expect(limiter.acquire('k', { cost: cost as number })).rejects.toThrow(/cost must be/)
    },
  )

  test('names, keys and waits are checked', async () => {
    const hf = await untouchable()
    expect(() => hf.limiter('', FINE)).toThrow(UsageError)
    expect(() => hf.limiter('x'.repeat(201), FINE)).toThrow(/1 to 200 bytes/)
    const limiter = hf.limiter('a', FINE)
    await expect(limiter.take('')).rejects.toThrow(/a key of a limiter must be 1 to 256 bytes/)
    await expect(limiter.take('x'.repeat(257))).rejects.toThrow(UsageError)
    await expect(limiter.look(7 as never)).rejects.toThrow(UsageError)
    await expect(limiter.acquire('k', { waitMs: -1 })).rejects.toThrow(UsageError)
    await expect(limiter.acquire('k', { signal: 1 as never })).rejects.toThrow(UsageError)
    await expect(limiter.acquire('k', { wait: 1 } as never)).rejects.toThrow(/has no option "wait"/)
  })
})

describe('ids and segments', () => {
  test.each([
    [{ workerBits: 0 }, /workerBits must be a whole number from 1 to 20, given 0/],
    [{ workerBits: 21 }, /given 21/],
    [{ workerBits: 2.5 }, /given 2.5/],
    [{ workerBits: Number.NaN }, /given NaN/],
    [{ sequenceBits: -1 }, /sequenceBits/],
    [{ sequenceBits: 23 }, /sequenceBits/],
    [{ timeBits: 64 }, /timeBits must be a whole number from 32 to 52/],
    [{ timeBits: 41, workerBits: 12, sequenceBits: 12 }, /at most 63 together, given 65/],
    [{ timeBits: 32 }, /have run out already/],
    [{ epochMs: -1 }, /epochMs/],
    [{ epochMs: 8.64e15 - 1 }, /not be in the future/],
    [{ name: '' }, /the name of ids/],
    [{ ttlMs: 0 }, /ttlMs/],
    [{ bits: 3 }, /has no option "bits"/],
  ] as [object, RegExp][])('ids %j are refused', async (options, message) => {
    const hf = await untouchable()
    expect(() => hf.ids(options)).toThrow(UsageError)
    expect(() => hf.ids(options)).toThrow(message)
  })

  test.each([-1n, 2n ** 63n, '', 'x', '-1', 5, null])('%s is no id', async (id) => {
    const ids = (await untouchable()).ids()
    expect(() => ids.parts(id as bigint)).toThrow(/an id must be/)
  })

  test.each([{ step: 0 }, { step: 1.5 }, { step: 1e9 }, { step: 10, stepMax: 9 }, { stepMax: Number.NaN }, { x: 1 }])(
    'segments %j are refused',
    async (options) => {
      const hf = await untouchable()
      expect(() => hf.segments('a', options as object)).toThrow(UsageError)
    },
  )
})
