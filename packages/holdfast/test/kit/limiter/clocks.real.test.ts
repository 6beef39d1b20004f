/** Rate limits on a Redis whose clock goes back, as it may when a replica becomes the primary. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Holdfast, holdfast } from '../../../src/index.ts'
import { type Clock, Clocks } from '../../../../holdfast-lab/src/torture/backend/clock.ts'
import { requireServers, requireTools } from '../../../../holdfast-lab/src/testbed/require.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'

const clocks = new Clocks()
let bed: Testbed
let clock: Clock
let hf: Holdfast

beforeAll(async () => {
  await requireServers(['redis'])
  await requireTools(['compiler'])
  bed = await testbed()
  clock = await clocks.make('redis')
  if (clock.env === null) throw new Error(`not run: ${clock.lacks['clock-back']}`)
  hf = await holdfast((await bed.redis({ env: clock.env })).url)
})

afterAll(async () => {
  await hf?.close()
  await bed?.close()
  await clocks.close()
})

beforeEach(() => clock.set(0))

/** Far less than the clock went back by. */
const SOON = { timeout: 20_000 }

test('a full bucket drains from now on, and not only once the clock has caught up', async () => {
  const limiter = hf.limiter('full', { limit: 2, perMs: 1_000, burst: 1 })
  expect((await limiter.take('k')).allowed).toBe(true)
  await clock.set(-600_000)
  await expect.poll(async () => (await limiter.take('k')).allowed, SOON).toBe(true)
})

test('a key that is shut opens after its time, and not only once the clock has caught up', async () => {
  const penalty = { after: 1, shutMs: 1_000 }
  const limiter = hf.limiter('shut', { limit: 1, perMs: 60_000, burst: 1, penalty })
  await expect.poll(async () => (await limiter.take('k')).shut, SOON).toBe(true)
  await clock.set(-600_000)
  expect((await limiter.take('k')).retryAfterMs).toBeLessThanOrEqual(1_000)
  await expect.poll(async () => (await limiter.look('k')).shut, SOON).toBe(false)
})
