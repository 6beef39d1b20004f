/** Waits and holds that are longer than a timer of Node can be (24.8 days) last as long as was said. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { memory } from '../../src/stores/memory/index.ts'
import { AcquireTimeoutError, holdfast } from '../../src/index.ts'
import { system } from '../../src/system.ts'

const DAY_MS = 86_400_000

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

test('maxHoldMs of 30 days gives the hold up after 30 days', async () => {
  const hf = await holdfast(memory(), { ttlMs: DAY_MS })
  const held = await hf.mutex('m', { maxHoldMs: 30 * DAY_MS }).acquire()
  await vi.advanceTimersByTimeAsync(29 * DAY_MS)
  expect(held.state).toBe('held')
  await vi.advanceTimersByTimeAsync(2 * DAY_MS)
  expect(held.state).toBe('lost')
  await hf.close()
})

test('waitMs of 60 days waits for 60 days', async () => {
  const hf = await holdfast(memory(), { ttlMs: DAY_MS })
  const held = await hf.mutex('m').acquire()
  let ended: unknown = null
  const waiting = (async () => {
    try {
      await hf.mutex('m').acquire({ waitMs: 60 * DAY_MS })
    } catch (error) {
      ended = error
    }
  })()
  await vi.advanceTimersByTimeAsync(59 * DAY_MS)
  expect(ended).toBeNull()
  await vi.advanceTimersByTimeAsync(2 * DAY_MS)
  await waiting
  expect(ended).toBeInstanceOf(AcquireTimeoutError)
  await held.release()
  await hf.close()
})

test('a long timer can be ended in any of its parts', async () => {
  let fired = 0
  const cancel = system.after(100 * DAY_MS, () => fired++, true)
  await vi.advanceTimersByTimeAsync(99 * DAY_MS)
  cancel()
  await vi.advanceTimersByTimeAsync(10 * DAY_MS)
  expect(fired).toBe(0)
  expect(vi.getTimerCount()).toBe(0)
})
