import { expect, test } from 'vitest'
import { memory } from '../../src/stores/memory/index.ts'
import { holdfast, LockLostError } from '../../src/index.ts'
import { ManualRuntime } from '../manual-runtime.ts'

const TTL_MS = 10_000

/**
 * The process sleeps past its lease at every point of a campaign in turn; what comes of it is looked at as soon as it
 * is told.
 */
async function asleepAt<T>(point: number, campaign: (runtime: ManualRuntime) => Promise<T>): Promise<T> {
  const runtime = new ManualRuntime()
  const told = campaign(runtime)
  for (let i = 0; i < point; i++) await Promise.resolve()
  runtime.sleep(2 * TTL_MS)
  await runtime.pass(100)
  return told
}

test('a candidate whose grant was lost before it was told stands again', async () => {
  for (let point = 0; point < 60; point++) {
    const held = await asleepAt(point, async (runtime) => {
      const hf = await holdfast(memory({ runtime }), { runtime, ttlMs: TTL_MS })
      // Told at once; after that only the holder itself can look.
      return hf.election('e').campaign({ waitMs: 60_000 })
    })
    expect(held.token, `asleep at ${point}`).toBeGreaterThan(0n)
  }
})

test('run leads again when its grant was lost before the work began', async () => {
  for (let point = 0; point < 60; point++) {
    const state = await asleepAt(point, async (runtime) => {
      const hf = await holdfast(memory({ runtime }), { runtime, ttlMs: TTL_MS })
      return hf.election('e').run((held) => held.state)
    })
    expect(state, `asleep at ${point}`).toBe('held')
  }
})

test('what the work throws after a loss is not the error of run', async () => {
  const runtime = new ManualRuntime()
  const hf = await holdfast(memory({ runtime }), { runtime, ttlMs: TTL_MS })
  let terms = 0
  const ended = hf.election('e').run(async (held, signal) => {
    if (++terms > 1) return held.state
    runtime.sleep(2 * TTL_MS)
    await runtime.pass(100)
    expect(signal.reason).toBeInstanceOf(LockLostError)
    throw new Error('the work could not go on')
  })
  await runtime.pass(100)
  expect(await ended).toBe('held')
  expect(terms).toBe(2)
})

test('what was released is not resigned again, and is not kept', async () => {
  await using hf = await holdfast(memory())
  const states: string[] = []
  const election = hf.election('e', { onState: (state) => void states.push(state) })
  const held = await election.campaign()
  await held.release()
  expect(await election.resign()).toBe(false)
  expect(states).toEqual(['held', 'released'])
  await election.campaign()
  expect(await election.resign()).toBe(true)
  expect(await election.resign()).toBe(false)
  const handed = await election.campaign()
  const heir = await hf.adopt(await handed.export())
  expect(await election.resign()).toBe(false)
  expect(await heir.release()).toBe(true)
})

test('ten thousand terms leave nothing behind', async () => {
  const { setFlagsFromString } = await import('node:v8')
  setFlagsFromString('--expose-gc')
  const gc = (await import('node:vm')).runInNewContext('gc') as () => void
  await using hf = await holdfast(memory())
  const election = hf.election('e')
  const terms = async (count: number): Promise<number> => {
    for (let i = 0; i < count; i++) await (await election.campaign()).release()
    gc()
    return process.memoryUsage().heapUsed
  }
  const before = await terms(2_000)
  const grown = (await terms(10_000)) - before
  // 1.8 kB each, when each was kept.
  expect(grown / 10_000).toBeLessThan(300)
})
