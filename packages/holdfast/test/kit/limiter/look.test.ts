/** What a look says, and what is left when users of one name allow different bursts. */
import { expect, test } from 'vitest'
import { memory } from '../../../src/stores/memory/index.ts'
import { holdfast } from '../../../src/index.ts'
import { ManualRuntime } from '../../manual-runtime.ts'

test('a look at an empty bucket does not say that more is allowed', async () => {
  const runtime = new ManualRuntime()
  const hf = await holdfast(memory({ runtime }), { runtime })
  const limiter = hf.limiter('api', { limit: 2, perMs: 1_000 })
  expect(await limiter.look('k')).toMatchObject({ allowed: true, remaining: 2, retryAfterMs: 0 })
  await limiter.take('k', 2)
  expect(await limiter.look('k')).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 500, resetMs: 1_000 })
})

test('nothing less than nothing is left for a smaller burst', async () => {
  const runtime = new ManualRuntime()
  const hf = await holdfast(memory({ runtime }), { runtime })
  await hf.limiter('api', { limit: 1, perMs: 1_000, burst: 5 }).take('k', 5)
  const small = hf.limiter('api', { limit: 1, perMs: 1_000, burst: 1 })
  expect(await small.take('k')).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 5_000 })
  expect(await small.look('k')).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 5_000 })
})
