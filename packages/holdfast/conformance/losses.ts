/** What a holder hears when its hold ends without its own doing: exactly, and never too late. */
import assert from 'node:assert/strict'
import { LockLostError } from '../src/contract/errors.ts'
import type { HoldState } from '../src/hold/held.ts'
import { isGranted } from '../src/contract/driver.ts'
import type { Draft } from './case.ts'
import { FaultyDriver, lost } from './faulty.ts'
import { crowd, entry, outlasting, pause, PATIENCE_MS, shortTtlMs, until, within } from './rig.ts'

export const losses: Draft[] = [
  {
    law: 'life',
    name: 'a fixed lease ends by itself: signal, state, assertHeld, release all say so',
    async run(rig) {
      const [a, b] = [await rig.holdfast(), await rig.holdfast()]
      const line = rig.name()
      const states: HoldState[] = []
      const ttlMs = shortTtlMs(a.traits)
      const held = await a.mutex(line, { ttlMs, renew: false, onState: (state) => void states.push(state) }).acquire()
      const next = b.mutex(line).acquire()
      await within('the signal fires', aborted(held.signal))
      assert.ok(held.signal.reason instanceof LockLostError)
      assert.equal(held.state, 'lost')
      assert.equal(held.remainingMs, 0)
      assert.throws(() => held.assertHeld(), LockLostError)
      assert.equal(await held.release(), false)
      assert.deepEqual(states, ['held', 'lost'])
      const successor = await within('the next in line is served', next)
      assert.ok(successor.token > held.token)
      await successor.release()
    },
  },
  {
    law: 'life',
    name: 'work that ends after the loss rejects with LockLostError, and its result is not lost',
    async run(rig) {
      const hf = await rig.holdfast()
      const lock = hf.mutex(rig.name(), { ttlMs: shortTtlMs(hf.traits), renew: false })
      const work = lock.using(async (held) => {
        await aborted(held.signal)
        return 42
      })
      await assert.rejects(
        within('the work ends', work),
        (error) => error instanceof LockLostError && error.result === 42,
      )
    },
  },
  {
    law: 'life',
    name: 'a hold is renewed for as long as it is held',
    async run(rig) {
      const [a, b] = [await rig.holdfast(), await rig.holdfast()]
      await outlasting(a.traits, 3_000, async (ttlMs) => {
        const line = rig.name()
        const held = await a.mutex(line, { ttlMs }).acquire()
        const end = performance.now() + ttlMs * 1.5
        while (performance.now() < end) {
          assert.equal(await b.mutex(line, { ttlMs }).tryAcquire(), null)
          held.assertHeld()
          await pause(100)
        }
        assert.equal(await held.release(), true)
      })
    },
  },
  {
    law: 'life',
    name: 'when no renewal gets through, the hold is at risk and then lost, by its own clock',
    async run(rig) {
      await outlasting(await rig.traits(), 600, async (ttlMs) => {
        let cut = false
        const before = (call: number): void => {
          if (cut) throw lost(call)
        }
        const hf = await rig.holdfast({}, (driver) => new FaultyDriver(driver, { before }))
        const states: HoldState[] = []
        const held = await hf.mutex(rig.name(), { ttlMs, onState: (state) => void states.push(state) }).acquire()
        cut = true
        const cutAt = performance.now()
        await within('the loss is told', aborted(held.signal))
        cut = false
        assert.ok(performance.now() - cutAt < ttlMs + PATIENCE_MS / 3, 'the loss needs no answer of the store')
        assert.deepEqual(states, ['held', 'at-risk', 'lost'])
      })
    },
  },
  {
    law: 'life',
    name: 'one failed renewal is no loss',
    async run(rig) {
      await outlasting(await rig.traits(), 3_000, async (ttlMs) => {
        let failures = 0
        const after = (call: number, method: string): void => {
          if (method === 'touch' && failures++ < 2) throw lost(call)
        }
        const hf = await rig.holdfast({}, (driver) => new FaultyDriver(driver, { after }))
        const states: HoldState[] = []
        const held = await hf.mutex(rig.name(), { ttlMs, onState: (state) => void states.push(state) }).acquire()
        await until('the renewal works again', () => states.length >= 3)
        assert.deepEqual(states.slice(0, 3), ['held', 'at-risk', 'held'])
        assert.equal(await held.release(), true)
      })
    },
  },
  {
    law: 'life',
    name: 'maxHoldMs ends a hold that would be renewed for ever',
    async run(rig) {
      const hf = await rig.holdfast()
      const line = rig.name()
      const held = await hf.mutex(line, { maxHoldMs: 60 }).acquire()
      await within('the hold is given up', aborted(held.signal))
      assert.throws(() => held.assertHeld(), LockLostError)
      await until('the place is left', async () => (await crowd({ list: (prefix) => hf.list({ prefix }) }, line)) === 0)
    },
  },
  {
    law: 'life',
    name: 'break stops the renewal, the holder is told, and others are served once its lease has run out',
    async run(rig) {
      const [a, b] = [await rig.holdfast(), await rig.holdfast()]
      const line = rig.name()
      const ttlMs = Math.max(a.traits.ttlMsMin, 3_000)
      const askedAt = performance.now()
      const held = await a.mutex(line, { ttlMs }).acquire()
      const next = b
        .mutex(line)
        .acquire()
        .finally(() => (servedAt = performance.now()))
      let servedAt = 0
      assert.equal(await b.break(line), 1)
      await within('the holder is told', aborted(held.signal))
      // The holder has noticed, and releases at once; its work may still go on.
      assert.equal(await held.release(), false)
      const successor = await within('the next in line is served', next)
      const earlyMs = Math.ceil(askedAt + ttlMs - servedAt)
      assert.ok(earlyMs < 20, `the next was served ${earlyMs} ms before the lease of the broken hold can have run out`)
      assert.ok(successor.token > held.token)
      assert.equal(await b.break(line, { now: true }), 1)
      await within('this holder is told as well', aborted(successor.signal))
      const third = await within('others are served at once', a.mutex(line).acquire())
      await third.release()
      assert.equal(await b.break(line), 0)
    },
  },
  {
    law: 'life',
    name: 'a broken place weighs until its lease has run out, also after it was left; broken at once it is gone',
    async run(rig) {
      const driver = await rig.driver()
      const line = rig.name()
      const ttlMs = Math.max(driver.traits.ttlMsMin, 2_000)
      const [first, second] = [entry(line, { ttlMs }), entry(line)]
      const askedAt = performance.now()
      const place = await driver.enter(first, true)
      assert.ok(place !== null && isGranted(first, place))
      const isOver = (): boolean => performance.now() >= askedAt + ttlMs
      const broken = await driver.break(line, false)
      assert.ok(broken === 1 || isOver(), `${broken} places were broken`)
      await driver.leave(first)
      await driver.leave(first)
      const early = entry(line)
      assert.ok((await driver.enter(early, false)) === null || isOver(), 'there is no room')
      await driver.leave(early)
      await until('the next is granted', async () => {
        const next = await driver.enter(second, true)
        if (driver.traits.fair) assert.ok(next, 'who waits keeps its place')
        return next !== null && isGranted(second, next)
      })
      const earlyMs = Math.ceil(askedAt + ttlMs - performance.now())
      assert.ok(
        earlyMs < 20,
        `the next was granted ${earlyMs} ms before the lease of the broken place can have run out`,
      )
      assert.equal(await driver.break(line, true), 1)
      assert.equal(await crowd(driver, line), 0)
      await driver.leave(second)
    },
  },
  {
    law: 'clock',
    name: 'a client whose wall clock is a day off is served, and keeps what it holds',
    async run(rig) {
      const { system } = await import('../src/system.ts')
      const runtime = { ...system, wallNow: () => system.wallNow() - 86_400_000 }
      const [wrong, right] = [await rig.holdfast({ runtime }), await rig.holdfast()]
      const line = rig.name()
      const held = await wrong.mutex(line).acquire()
      assert.equal(await right.mutex(line).tryAcquire(), null)
      const next = right.mutex(line).acquire()
      held.assertHeld()
      assert.equal(await held.release(), true)
      await (await within('the next is served', next)).release()
    },
  },
]

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
