import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { memory } from '../../src/stores/memory/index.ts'
import { holdfast, UsageError } from '../../src/index.ts'
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

/** The ticket with some of its words changed, as somebody may do on its way. */
function forged(ticket: string, changes: object): string {
  const deed = JSON.parse(Buffer.from(ticket, 'base64url').toString()) as object
  return Buffer.from(JSON.stringify({ ...deed, ...changes })).toString('base64url')
}

test.each([
  { counter: 1_023 },
  { counter: 5_000 },
  { counter: -1 },
  { ttlMs: 0 },
  { ttlMs: 86_400_001 },
  { lockDelayMs: 2 ** 40 },
  { minHoldMs: 2 ** 40 },
  { weight: 0 },
  { weight: 2 },
  { capacity: 2 ** 31, weight: 2 ** 31 },
  { id: '../../other' },
  { id: '' },
  { id: 7 },
  { line: '' },
  { mode: 'root' },
  { store: 'redis' },
])('a ticket that somebody has changed is refused, and the ticket itself still works: %j', async (changes) => {
  const hf = await holdfast('memory:')
  const held = await hf.mutex('stock').acquire()
  const ticket = await held.export()
  await expect(hf.adopt(forged(ticket, changes))).rejects.toThrow(UsageError)
  const heir = await hf.adopt(ticket)
  expect(heir.token).toBeGreaterThan(held.token)
  await heir.release()
})

test('whatever stands in a ticket, the next holder has a larger token', async () => {
  const hf = await holdfast('memory:')
  const held = await hf.mutex('stock').acquire()
  const heir = await hf.adopt(forged(await held.export(), { counter: 1_022 }))
  await heir.release()
  expect((await hf.mutex('stock').acquire()).token).toBeGreaterThan(heir.token)
})

test('no error shows a ticket: whoever has it can take the lock', async () => {
  const hf = await holdfast('memory:')
  const ticket = await (await hf.mutex('stock').acquire()).export()
  for (const text of [ticket.slice(0, -9), forged(ticket, { store: ticket })]) {
    const error: unknown = await hf.adopt(text).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(UsageError)
    expect(inspect(error, { showHidden: true })).not.toContain(ticket.slice(4, 40))
  }
})
