import { expect, test } from 'vitest'
import { memory } from '../../src/stores/memory/index.ts'
import { holdfast } from '../../src/index.ts'
import { ManualRuntime } from '../manual-runtime.ts'

test('minHoldMs is kept by whoever adopts the hold, and no longer than from its own grant on', async () => {
  const runtime = new ManualRuntime()
  const hf = await holdfast(memory({ runtime }), { runtime, ttlMs: 60_000 })
  const held = await hf.mutex('report', { minHoldMs: 10_000 }).acquire()
  await runtime.pass(4_000)
  const heir = await hf.adopt(await held.export())
  expect(await heir.release()).toBe(true)
  expect(await hf.mutex('report').tryAcquire()).toBeNull()
  await runtime.pass(5_000)
  expect(await hf.mutex('report').tryAcquire()).toBeNull()
  await runtime.pass(1_100)
  expect(await hf.mutex('report').tryAcquire()).not.toBeNull()
})
