/** A barrier on clocks that a test moves: what it leaves in the store, and parties that wait for very long. */
import { expect, test } from 'vitest'
import { memory } from '../../src/stores/memory/index.ts'
import { holdfast } from '../../src/index.ts'
import { ManualRuntime } from '../manual-runtime.ts'

const DAY_MS = 86_400_000
const KEY = 'holdfast/barrier/job:42'

test('a barrier that nobody uses any more is forgotten', async () => {
  const runtime = new ManualRuntime()
  const driver = memory({ runtime })
  const hf = await holdfast(driver, { runtime, ttlMs: DAY_MS })
  const passed = Promise.all([hf.barrier('job:42', 2).wait(), hf.barrier('job:42', 2).wait()])
  await runtime.pass(5_000)
  expect(await passed).toEqual([0, 0])
  expect((await driver.swap(KEY, null)).value).not.toBeNull()
  runtime.sleep(8 * DAY_MS)
  expect((await driver.swap(KEY, null)).value).toBeNull()
})

test('who waits for longer than that is not forgotten', async () => {
  const runtime = new ManualRuntime()
  const driver = memory({ runtime })
  const hf = await holdfast(driver, { runtime, ttlMs: DAY_MS })
  const first = hf.barrier('job:42', 2).wait()
  // In steps of some hours: the looks in between would cost a minute.
  for (let hours = 0; hours < 10 * 24; hours += 6) {
    await runtime.pass(1_500)
    runtime.sleep(6 * 3_600_000 - 1_500)
  }
  await runtime.pass(5_000)
  const second = hf.barrier('job:42', 2).wait()
  await runtime.pass(5_000)
  expect(await Promise.all([first, second])).toEqual([0, 0])
})
