/** A holder whose health check says no, fails or hangs lets go, by the end of its lease. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { expect, test } from 'vitest'
import { type Events, holdfast, type LockOptions, UsageError } from '../../src/index.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { ManualRuntime } from '../manual-runtime.ts'

const TTL_MS = 6_000

async function setUp(options: LockOptions) {
  const runtime = new ManualRuntime()
  const hf = await holdfast(memory({ runtime }), { runtime, ttlMs: TTL_MS })
  const lock = hf.mutex('m', options)
  const next = hf.mutex('m', { fairness: 'strict' })
  return { runtime, hf, lock, next }
}

const SICK: Record<string, { readonly check: () => boolean | Promise<boolean>; readonly reason: string }> = {
  'says no': { check: () => false, reason: 'aliveIf returned false' },
  'says no later': { check: () => Promise.resolve(false), reason: 'aliveIf returned false' },
  hangs: { check: () => new Promise<boolean>(() => {}), reason: 'aliveIf gave no answer for 1000 ms' },
  throws: {
    check: () => {
      throw new Error('no disk')
    },
    reason: 'aliveIf failed: no disk',
  },
  rejects: { check: () => Promise.reject(new Error('no disk')), reason: 'aliveIf failed: no disk' },
  'answers something else': { check: () => 'yes' as unknown as boolean, reason: 'aliveIf returned false' },
}

test.each(Object.keys(SICK))(
  'a check that %s ends the hold within 4/3 of its lease, and the next one gets it',
  async (kind) => {
    const { check, reason } = SICK[kind] as (typeof SICK)[string]
    let isSick = false
    const told: Events['lost'][] = []
    const listener = (message: unknown): void => void told.push(message as Events['lost'])
    subscribe('holdfast:lost', listener)
    try {
      const { runtime, hf, lock, next } = await setUp({ aliveIf: () => (isSick ? check() : true) })
      const held = await lock.acquire()
      const waiting = next.acquire()
      await runtime.pass(TTL_MS * 4)
      expect(held.state).toBe('held')
      isSick = true
      // It is held until its lease ends, and not given up at once: the work may still go on.
      await runtime.pass(TTL_MS / 2)
      expect(held.state).toBe('held')
      await runtime.pass(TTL_MS)
      expect(held.state).toBe('lost')
      expect(() => held.assertHeld()).toThrow(reason)
      expect(told).toMatchObject([{ lock: 'm', cause: 'not-alive' }])
      expect(told[0]?.reason).toContain(reason)
      await (await waiting).release()
      await hf.close()
    } finally {
      unsubscribe('holdfast:lost', listener)
    }
  },
)

test('who was not alive once is not renewed again', async () => {
  let answers = 0
  const { runtime, hf, lock } = await setUp({ aliveIf: () => ++answers !== 2 })
  const held = await lock.acquire()
  await runtime.pass(TTL_MS * 2)
  expect(held.state).toBe('lost')
  expect(answers).toBe(2)
  await hf.close()
})

test('a hold that ended is not asked for, and a lease that may not be renewed is not handed on', async () => {
  let answers = 0
  const { runtime, hf, lock } = await setUp({ aliveIf: () => ++answers < 100 })
  const first = await lock.acquire()
  const second = lock.acquire()
  await runtime.settle()
  await first.release()
  const held = await second
  // Another place, not another issue of the same: its lease begins anew.
  expect(held.token - first.token).toBeGreaterThan(1_000n)
  await held.release()
  const before = answers
  await runtime.pass(TTL_MS * 3)
  expect(answers).toBe(before)
  await hf.close()
})

test('what it does not go with is refused', async () => {
  const { hf } = await setUp({})
  expect(() => hf.mutex('m', { aliveIf: true as never })).toThrow(UsageError)
  expect(() => hf.mutex('m', { aliveIf: () => true, renew: false })).toThrow('aliveIf does not go with renew: false')
  expect(() => hf.mutex('m', { aliveIf: () => true, keep: true })).toThrow('keep does not go with aliveIf')
  await hf.close()
})
