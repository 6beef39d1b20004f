/** What a readiness probe is told. */
import { expect, test } from 'vitest'
import { FaultyDriver } from '../conformance/faulty.ts'
import { holdfast, StoreUnreachableError, UsageError } from '../src/index.ts'
import { memory } from '../src/stores/memory/index.ts'

test('an instance whose store answers is fine, and says how long that took', async () => {
  await using hf = await holdfast(memory(), { ttlMs: 90 })
  expect(await hf.health()).toMatchObject({
    ok: true,
    reachable: true,
    lastRenewalMs: null,
    holdsAtRisk: 0,
    reason: '',
  })
  await hf.mutex('m').acquire()
  await expect.poll(async () => (await hf.health()).lastRenewalMs).toBeGreaterThanOrEqual(0)
  expect((await hf.health()).roundTripMs).toBeGreaterThanOrEqual(0)
})

test('a store that fails, a hold at risk, and an instance that was closed are told', async () => {
  let down = new Set<string>()
  const before = (_call: number, method: string): void => {
    if (down.has(method)) throw new StoreUnreachableError('no route')
  }
  const hf = await holdfast(new FaultyDriver(memory(), { before }), { ttlMs: 1_500 })
  down = new Set(['swap'])
  expect(await hf.health()).toMatchObject({ ok: false, reachable: false, roundTripMs: null, reason: 'no route' })
  down = new Set(['touch'])
  const held = await hf.mutex('m').acquire()
  await expect.poll(async () => (await hf.health()).holdsAtRisk).toBe(1)
  expect(await hf.health()).toMatchObject({ ok: false, reachable: true })
  down = new Set()
  await expect.poll(async () => (await hf.health()).ok).toBe(true)
  down = new Set(['touch'])
  await expect.poll(() => held.state).toBe('lost')
  expect((await hf.health()).holdsAtRisk).toBe(0)
  await hf.close()
  expect(await hf.health()).toMatchObject({ ok: false, reachable: false, reason: 'the instance was closed' })
})

test('a store that hangs is not waited for', async () => {
  const driver = memory()
  driver.swap = () => new Promise(() => {})
  await using hf = await holdfast(driver)
  expect(await hf.health({ timeoutMs: 20 })).toMatchObject({
    ok: false,
    reason: 'the store gave no answer within 20 ms',
  })
  await expect(hf.health({ timeoutMs: 0 })).rejects.toThrow(UsageError)
  await expect(hf.health({ timeout: 5 } as object)).rejects.toThrow(UsageError)
})
