/** Segments: the next range lies ready in time, its size follows the use, and what is lost is bounded. */
import { describe, expect, test } from 'vitest'
import { FaultyDriver, lost } from '../../../conformance/faulty.ts'
import { memory } from '../../../src/stores/memory/index.ts'
import { holdfast, StoreUnreachableError } from '../../../src/index.ts'
import { ManualRuntime } from '../../manual-runtime.ts'

async function open() {
  const runtime = new ManualRuntime()
  const world = { swaps: 0, isSilent: false, losesAnswers: false }
  const driver = new FaultyDriver(memory({ runtime }), {
    before(call, method) {
      if (method === 'swap') world.swaps++
      if (world.isSilent) throw lost(call)
    },
    after(call) {
      if (world.losesAnswers) throw lost(call)
    },
  })
  const hf = await holdfast(driver, { runtime, connectTimeoutMs: 100 })
  return { hf, runtime, world }
}

describe('segments', () => {
  test('the next range is there before the last is used up: no waiting after the first', async () => {
    const { hf, runtime } = await open()
    const segments = hf.segments('orders', { step: 10 })
    expect(segments.tryNext()).toBe(null)
    const numbers = [await segments.next()]
    for (let i = 0; i < 500; i++) {
      numbers.push(segments.tryNext() as bigint)
      await runtime.settle()
    }
    expect(numbers).toEqual(Array.from({ length: 501 }, (_, i) => BigInt(i + 1)))
  })

  test('a range grows while it is used up fast, within its bound, and shrinks again', async () => {
    const { hf, runtime, world } = await open()
    const segments = hf.segments('orders', { step: 10, stepMax: 1_000 })
    for (let i = 0; i < 20_000; i++) await segments.next()
    // 2 swaps a range: about 20 ranges of 1 000 after 7 that grow.
    expect(world.swaps).toBeLessThan(80)
    const before = world.swaps
    for (let i = 0; i < 5_000; i++) {
      await segments.next()
      runtime.sleep(1_000)
    }
    const after = world.swaps
    for (let i = 0; i < 100; i++) {
      await segments.next()
      runtime.sleep(3_000)
    }
    expect(after - before).toBeGreaterThan(20)
    expect(world.swaps - after, 'ranges of 10 again').toBeGreaterThan(10)
  })

  test('a silent store is told when there is nothing left, and not before', async () => {
    const { hf, runtime, world } = await open()
    const segments = hf.segments('orders', { step: 10 })
    await segments.next()
    world.isSilent = true
    for (let i = 0; i < 9; i++) expect(segments.tryNext()).not.toBe(null)
    await runtime.pass(1_000)
    expect(segments.tryNext()).toBe(null)
    const failing = expect(segments.next()).rejects.toThrow(StoreUnreachableError)
    await runtime.pass(1_000)
    await failing
    world.isSilent = false
    expect(await segments.next()).toBe(11n)
  })

  test('a lost answer costs no number twice', async () => {
    const { hf, runtime, world } = await open()
    const segments = hf.segments('orders', { step: 5, stepMax: 5 })
    const numbers: bigint[] = []
    for (let i = 0; i < 60; i++) {
      world.losesAnswers = i % 7 === 3
      const next = segments.next()
      await runtime.settle()
      world.losesAnswers = false
      await runtime.pass(100)
      numbers.push(await next)
    }
    expect(new Set(numbers).size).toBe(60)
  })

  test('a close gives back both ranges, but nothing that another has passed', async () => {
    const { hf, runtime } = await open()
    const [mine, theirs] = [hf.segments('orders', { step: 4 }), hf.segments('orders', { step: 4 })]
    for (let i = 0; i < 3; i++) await mine.next()
    await runtime.settle()
    await mine.close()
    expect(await theirs.next(), '4 and the range behind it were given back').toBe(4n)
    const more = hf.segments('orders', { step: 4 })
    expect(await more.next()).toBe(8n)
    await theirs.close()
    const last = hf.segments('orders', { step: 4 })
    expect(await last.next(), 'a gap, since another range was taken').toBe(12n)
  })
})
