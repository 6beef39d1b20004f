/** Batches on a store that answers late, and an open limiter on a store that refuses. */
import { describe, expect, test } from 'vitest'
import type { Demand, Driver, Taken } from '../../../src/contract/driver.ts'
import { memory } from '../../../src/stores/memory/index.ts'
import { AcquireTimeoutError, holdfast, type Limiter, StoreError, type LimiterOptions } from '../../../src/index.ts'
import { ManualRuntime } from '../../manual-runtime.ts'

interface SlowStore {
  readonly runtime: ManualRuntime
  readonly limiter: Limiter
  /** What was taken from the store, used or not. */
  readonly taken: () => number
}

/** A store that takes at once, and whose answer comes `delayMs` later. */
async function slowStore(delayMs: number, options: LimiterOptions): Promise<SlowStore> {
  const runtime = new ManualRuntime()
  const inner = memory({ runtime })
  let taken = 0
  const take = async (key: string, demand: Demand): Promise<Taken> => {
    const answer = await (inner.take as NonNullable<Driver['take']>)(key, demand)
    if (answer.taken) taken += demand.cost
    await new Promise<void>((resolve) => runtime.after(delayMs, resolve))
    return answer
  }
  const { name, traits } = inner
  const driver = Object.assign(Object.create(inner) as Driver, { take, name, traits, close: async () => {} })
  const hf = await holdfast(driver, { runtime })
  return { runtime, limiter: hf.limiter('l', options), taken: () => taken }
}

/** What becomes of a promise while time passes; null: nothing yet. */
async function within<T>(runtime: ManualRuntime, ms: number, promise: Promise<T>): Promise<T | null> {
  const nothing = runtime.pass(ms).then(() => null)
  return Promise.race([promise, nothing])
}

describe('a batch on a store that answers later than holdMs', () => {
  const OPTIONS = { limit: 1_000_000, perMs: 1_000, burst: 1_000_000, batch: { size: 10, holdMs: 50 } }

  test('who asked is served by the answer, and no quota is burnt', async () => {
    const { runtime, limiter, taken } = await slowStore(80, OPTIONS)
    for (let i = 0; i < 5; i++) {
      expect(await within(runtime, 100, limiter.take('k'))).toMatchObject({ allowed: true })
    }
    // One batch, before it was known how slow the store is; then as much as was wanted.
    expect(taken()).toBeLessThanOrEqual(10 + 4)
  })

  test('all who wait for one answer are served by it, and each take settles', async () => {
    const { runtime, limiter, taken } = await slowStore(80, OPTIONS)
    const takes = Array.from({ length: 200 }, (_, i) => limiter.take('k', 1 + (i % 3)))
    const outcomes = await within(runtime, 500, Promise.all(takes))
    expect(outcomes?.filter(({ allowed }) => allowed)).toHaveLength(200)
    expect(taken()).toBeLessThanOrEqual(410)
  })

  test('a small quota goes to those who ask, not to nobody', async () => {
    const options = { limit: 10, perMs: 2_678_400_000, burst: 10, batch: { size: 5, holdMs: 50 } }
    const { runtime, limiter } = await slowStore(80, options)
    let allowed = 0
    for (let i = 0; i < 12; i++) {
      const outcome = await within(runtime, 1_000, limiter.take('k'))
      expect(outcome, 'it settles').not.toBeNull()
      if (outcome?.allowed) allowed++
    }
    // The rest of the first batch is lost, and nothing else.
    expect(allowed).toBe(6)
  })

  test('a store that is fast again is asked for batches again', async () => {
    let delayMs = 80
    const runtime = new ManualRuntime()
    const inner = memory({ runtime })
    let asked = 0
    const take = async (key: string, demand: Demand): Promise<Taken> => {
      asked++
      const answer = await (inner.take as NonNullable<Driver['take']>)(key, demand)
      if (delayMs > 0) await new Promise<void>((resolve) => runtime.after(delayMs, resolve))
      return answer
    }
    const { name, traits } = inner
    const driver = Object.assign(Object.create(inner) as Driver, { take, name, traits, close: async () => {} })
    const limiter = (await holdfast(driver, { runtime })).limiter('l', OPTIONS)
    await within(runtime, 100, limiter.take('k'))
    delayMs = 0
    await limiter.take('k')
    asked = 0
    for (let i = 0; i < 10; i++) expect((await limiter.take('k')).allowed).toBe(true)
    expect(asked).toBe(1)
  })

  test('callers of different costs: the small one is not refused for the large one', async () => {
    const options = { limit: 10, perMs: 60_000, burst: 10, batch: { size: 2, holdMs: 50 } }
    const { runtime, limiter } = await slowStore(10, options)
    await within(runtime, 100, limiter.take('k', 6))
    const [large, small] = (await within(runtime, 500, Promise.all([limiter.take('k', 9), limiter.take('k', 2)]))) ?? []
    expect(large).toMatchObject({ allowed: false })
    expect(small).toMatchObject({ allowed: true })
    expect(large?.retryAfterMs).toBeGreaterThan(0)
  })
})

describe('a store that refuses to count', () => {
  async function refusing(error: Error, options: Partial<LimiterOptions>): Promise<Limiter> {
    const inner = memory()
    const { name, traits } = inner
    const take = async (): Promise<Taken> => {
      throw error
    }
    const driver = Object.assign(Object.create(inner) as Driver, { take, name, traits, close: async () => {} })
    return (await holdfast(driver)).limiter('l', { limit: 10, perMs: 1_000, ...options })
  }

  test.each([undefined, { size: 5 }])('an open limiter lets all through, with batch %j', async (batch) => {
    const full = new StoreError('OOM command not allowed when used memory > maxmemory')
    const limiter = await refusing(full, { whenDown: 'open', ...(batch === undefined ? {} : { batch }) })
    expect(await limiter.take('k')).toMatchObject({ allowed: true, counted: false })
    expect(await limiter.acquire('k')).toMatchObject({ allowed: true, counted: false })
    expect(await limiter.look('k')).toMatchObject({ allowed: true, counted: false })
  })

  test('a closed one rejects with what the store said, and no wish is taken for an outage', async () => {
    const full = new StoreError('OOM')
    await expect((await refusing(full, {})).take('k')).rejects.toBe(full)
    const late = new AcquireTimeoutError('others were faster')
    await expect((await refusing(late, { whenDown: 'open' })).take('k')).rejects.toBe(late)
  })
})
