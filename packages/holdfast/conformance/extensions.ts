/**
 * A fixed lease that its holder renews by hand: longer than before, never shorter, and asked for again when a reply is
 * lost.
 */
import assert from 'node:assert/strict'
import { LockLostError, NotHeldError, UnsupportedError, UsageError } from '../src/contract/errors.ts'
import type { Driver } from '../src/contract/driver.ts'
import type { Draft } from './case.ts'
import { FaultyDriver, lost, type Method } from './faulty.ts'
import { crowd, LONG_TTL_MS, outlasting, pause, type Rig, until, within } from './rig.ts'

/** Loses the reply to the first call of this kind. */
function losing(method: Method): (driver: Driver) => Driver {
  let isLost = false
  const after = (call: number, called: Method): void => {
    if (called !== method || isLost) return
    isLost = true
    throw lost(call)
  }
  return (driver) => new FaultyDriver(driver, { after })
}

async function renews(rig: Rig, ttlMs: number): Promise<void> {
  const [a, b] = [await rig.holdfast(), await rig.holdfast()]
  const line = rig.name()
  const held = await a.mutex(line, { ttlMs, renew: false }).acquire()
  const { token } = held
  // Past two leases, with an extension shorter than what is left: it must not make the lease shorter.
  for (let i = 0; i < 8; i++) {
    await pause(ttlMs / 4)
    await held.extend(i % 2 === 0 ? ttlMs : 1)
    assert.equal(await b.mutex(line).tryAcquire(), null)
  }
  assert.equal(held.token, token)
  // Then nobody renews, and the lease ends by itself.
  const next = await within('the lease ends', b.mutex(line).acquire())
  assert.ok(next.token > token || !b.traits.fenced)
  assert.equal(held.state, 'lost')
  await assert.rejects(held.extend(), LockLostError)
  next.assertHeld()
  await next.release()
}

async function lengthens(rig: Rig, ttlMs: number): Promise<void> {
  const [a, b] = [await rig.holdfast(), await rig.holdfast()]
  const line = rig.name()
  const held = await a.mutex(line, { ttlMs, renew: false }).acquire()
  const { token } = held
  if ((await rig.driver()).rename === undefined) {
    await assert.rejects(held.extend(LONG_TTL_MS), UnsupportedError)
    held.assertHeld()
    assert.equal(await held.release(), true)
    return
  }
  await held.extend(LONG_TTL_MS)
  await pause(2 * ttlMs)
  held.assertHeld()
  assert.equal(await b.mutex(line).tryAcquire(), null)
  // Shorter than what is left: nothing changes.
  await held.extend(ttlMs)
  await pause(2 * ttlMs)
  held.assertHeld()
  assert.equal(await b.mutex(line).tryAcquire(), null)
  assert.equal(held.token, token)
  assert.equal(await held.release(), true)
  await until(
    'nothing is left in the line',
    async () => (await crowd({ list: (prefix) => b.list({ prefix }) }, line)) === 0,
  )
}

export const extensions: Draft[] = [
  {
    law: 'life',
    name: 'a fixed lease that is extended by hand outlasts its ttl, and ends when nobody extends it',
    run: async (rig) => outlasting(await rig.traits(), 400, (ttlMs) => renews(rig, ttlMs)),
  },
  {
    law: 'life',
    name: 'an extension past the ttl makes the lease longer, and a later one never shorter; or it is refused by name',
    run: async (rig) => outlasting(await rig.traits(), 300, (ttlMs) => lengthens(rig, ttlMs)),
  },
  {
    law: 'life',
    name: 'an extension whose reply was lost is asked for again, and leaves one place',
    async run(rig) {
      const other = await rig.holdfast()
      const list = { list: (prefix: string) => other.list({ prefix }) }
      const canLengthen = (await rig.driver()).rename !== undefined
      for (const method of canLengthen ? (['touch', 'rename'] as const) : (['touch'] as const)) {
        const hf = await rig.holdfast({}, losing(method))
        const line = rig.name()
        const held = await hf.mutex(line, { ttlMs: LONG_TTL_MS, renew: false }).acquire()
        await within('the extension', method === 'touch' ? held.extend() : held.extend(2 * LONG_TTL_MS))
        held.assertHeld()
        assert.equal(await crowd(list, line), 1)
        assert.equal(await held.release(), true)
        await until('nothing is left in the line', async () => (await crowd(list, line)) === 0)
        await assert.rejects(held.extend(), NotHeldError)
      }
    },
  },
  {
    law: 'life',
    name: 'what renews itself, or what is no time, is not extended',
    async run(rig) {
      const hf = await rig.holdfast()
      const held = await hf.mutex(rig.name()).acquire()
      await assert.rejects(held.extend(), UsageError)
      await held.release()
      const fixed = await hf.mutex(rig.name(), { ttlMs: LONG_TTL_MS, renew: false }).acquire()
      for (const ms of [0, -1, 1.5, Number.NaN, 86_400_001]) await assert.rejects(fixed.extend(ms), UsageError)
      fixed.assertHeld()
      await fixed.release()
    },
  },
]
