/** Rate limits on clocks that a test moves: exactness, skew between clients, and what batches may do. */
import { describe, expect, test } from 'vitest'
import { cellsOnly } from '../../../conformance/limiters.ts'
import type { Driver } from '../../../src/contract/driver.ts'
import { memory } from '../../../src/stores/memory/index.ts'
import { type Holdfast, holdfast, type LimiterOptions } from '../../../src/index.ts'
import { ManualRuntime } from '../../manual-runtime.ts'

let stores = 0

/** Clients of one store that has compare-and-set only, each with clocks of its own. */
function clients(runtimes: readonly ManualRuntime[]): Promise<Holdfast[]> {
  const name = `limiter-clocks-${++stores}`
  return Promise.all(runtimes.map((runtime) => holdfast(cellsOnly(memory({ name, runtime })), { runtime })))
}

async function allowed(hf: Holdfast, options: LimiterOptions, times: number): Promise<number> {
  const limiter = hf.limiter('l', options)
  let count = 0
  for (let i = 0; i < times; i++) if ((await limiter.take('k')).allowed) count++
  return count
}

describe('exact', () => {
  test.each([
    { limit: 3, perMs: 1_000 },
    { limit: 7, perMs: 100 },
    { limit: 1, perMs: 1 },
    { limit: 1_000_000_000, perMs: 1 },
    { limit: 11, perMs: 250 },
    { limit: 1, perMs: 2_678_400_000 },
  ])('$limit in $perMs ms: one fits when its time has come, and not a microsecond before', async (rate) => {
    const runtime = new ManualRuntime()
    const hf = await holdfast(memory({ runtime }), { runtime })
    const limiter = hf.limiter('l', { ...rate, burst: 1 })
    for (let round = 0; round < 50; round++) {
      expect((await limiter.take('k')).allowed).toBe(true)
      const { allowed, retryAfterMs } = await limiter.take('k')
      expect(allowed).toBe(false)
      // The first whole microsecond at which enough has drained.
      const us = Number((BigInt(rate.perMs) * 1_000n + BigInt(rate.limit) - 1n) / BigInt(rate.limit))
      expect(retryAfterMs).toBe(us / 1_000)
      const takenAtUs = Math.floor(runtime.monoMs * 1_000)
      if (us > 1) {
        // In the middle of a microsecond, so that no rounding of the clock matters.
        runtime.monoMs = (takenAtUs + us - 0.5) / 1_000
        expect((await limiter.take('k')).allowed).toBe(false)
      }
      runtime.monoMs = (takenAtUs + us + 0.5) / 1_000
    }
  })

  test('half a second is half a second', async () => {
    const runtime = new ManualRuntime()
    const limiter = (await holdfast(memory({ runtime }), { runtime })).limiter('l', { limit: 1, perMs: 500 })
    expect((await limiter.take('k')).allowed).toBe(true)
    runtime.sleep(499)
    expect(await limiter.take('k')).toMatchObject({ allowed: false, retryAfterMs: 1, remaining: 0 })
    runtime.sleep(1)
    expect(await limiter.take('k')).toMatchObject({ allowed: true, resetMs: 500 })
  })
})

describe('clocks that differ, without a clock of the store', () => {
  const OPTIONS = { limit: 1, perMs: 1_000, burst: 5 }

  test('a clock an hour ahead costs one burst, once, however they take turns', async () => {
    const [right, ahead] = [new ManualRuntime(), new ManualRuntime()]
    ahead.wallMs += 3_600_000
    // Two machines never draw the same id.
    for (let i = 0; i < 1_000; i++) ahead.randomId()
    const [a, b] = (await clients([right, ahead])) as [Holdfast, Holdfast]
    const [mine, theirs] = [a.limiter('l', OPTIONS), b.limiter('l', OPTIONS)]
    let count = 0
    for (let i = 0; i < 200; i++) {
      for (const limiter of [mine, theirs]) if ((await limiter.take('k')).allowed) count++
    }
    // One before the clock ahead was seen, and a burst.
    expect(count).toBe(6)
    // And both go on from there, in real time.
    for (let i = 0; i < 20; i++) {
      right.sleep(1_000)
      ahead.sleep(1_000)
      expect((await (i % 2 ? mine : theirs).take('k')).allowed).toBe(true)
      expect((await (i % 2 ? theirs : mine).take('k')).allowed).toBe(false)
    }
  })

  test('a wall clock that is set back neither stops nor floods', async () => {
    const runtime = new ManualRuntime()
    const [hf] = (await clients([runtime])) as [Holdfast]
    const limiter = hf.limiter('l', OPTIONS)
    for (let i = 0; i < 5; i++) expect((await limiter.take('k')).allowed).toBe(true)
    runtime.wallMs -= 3_600_000
    expect((await limiter.take('k')).allowed).toBe(false)
    runtime.sleep(1_000)
    expect((await limiter.take('k')).allowed).toBe(true)
    expect((await limiter.take('k')).allowed).toBe(false)
  })

  test('what one process wants at once goes into one swap, and a stale view only ever refuses rightly', async () => {
    const runtime = new ManualRuntime()
    let swaps = 0
    const counted = (driver: Driver): Driver =>
      cellsOnly(driver, {
        before(_, method) {
          if (method === 'swap') swaps++
        },
      })
    const hf = await holdfast(counted(memory({ runtime })), { runtime })
    const limiter = hf.limiter('l', { ...OPTIONS, burst: 50 })
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => limiter.take('k')))
    expect(outcomes.filter((outcome) => outcome.allowed)).toHaveLength(50)
    expect(swaps).toBeLessThanOrEqual(4)
    swaps = 0
    expect(await allowed(hf, { ...OPTIONS, burst: 50 }, 1)).toBe(0)
    for (let i = 0; i < 100; i++) expect((await limiter.take('k')).allowed).toBe(false)
    expect(swaps).toBeLessThanOrEqual(2)
  })
})

describe('batches', () => {
  test('the store is asked once for a batch, and a held batch is lost after its time', async () => {
    const runtime = new ManualRuntime()
    const inner = memory({ runtime })
    let asked = 0
    const driver = Object.assign(Object.create(inner) as Driver, {
      take: (key: string, demand: Parameters<NonNullable<Driver['take']>>[1]) => {
        asked++
        return inner.take?.(key, demand)
      },
      close: () => inner.close(),
      name: inner.name,
      traits: inner.traits,
    })
    const hf = await holdfast(driver, { runtime })
    const limiter = hf.limiter('l', { limit: 10, perMs: 1_000, burst: 20, batch: { size: 10, holdMs: 200 } })
    for (let i = 0; i < 10; i++) expect((await limiter.take('k')).allowed).toBe(true)
    expect(asked).toBe(1)
    expect((await limiter.take('k')).allowed).toBe(true)
    expect(asked).toBe(2)
    runtime.sleep(200)
    // Nine were lost; two have drained.
    expect((await limiter.take('k', 2)).allowed).toBe(true)
    expect(await limiter.take('k')).toMatchObject({ allowed: false, retryAfterMs: 100, remaining: 0 })
    const before = asked
    for (let i = 0; i < 50; i++) expect((await limiter.take('k')).allowed).toBe(false)
    expect(asked, 'refusals are known here').toBe(before)
    runtime.sleep(100)
    expect((await limiter.take('k')).allowed).toBe(true)
  })

  test('in any span no more is let through than the stated bound', async () => {
    const runtime = new ManualRuntime()
    const name = `limiter-batches-${++stores}`
    const options = { limit: 10, perMs: 1_000, burst: 10, batch: { size: 5, holdMs: 500 } }
    const limiters = await Promise.all(
      [1, 2, 3].map(async () => (await holdfast(memory({ name, runtime }), { runtime })).limiter('l', options)),
    )
    const times: number[] = []
    for (let step = 0; step < 600; step++) {
      runtime.sleep(10)
      const limiter = limiters[(step * 7) % 3] as (typeof limiters)[0]
      for (let i = 0; i < step % 4; i++) if ((await limiter.take('k')).allowed) times.push(runtime.monoMs)
    }
    for (const [i, from] of times.entries()) {
      for (const [j, to] of times.entries()) {
        if (j < i) continue
        expect(j - i + 1).toBeLessThanOrEqual(10 + (10 * (to - from + 500)) / 1_000 + 1e-6)
      }
    }
    expect(times.length).toBeGreaterThan(20)
  })
})
