/** Locks that stay with their process after a release, and holders that hear that somebody waits. */
import assert from 'node:assert/strict'
import { UnsupportedError, UsageError } from '../src/contract/errors.ts'
import type { Driver } from '../src/contract/driver.ts'
import type { Holdfast } from '../src/holdfast.ts'
import type { Draft } from './case.ts'
import { FaultyDriver } from './faulty.ts'
import { crowd, LONG_TTL_MS, pause, type Rig, until, within } from './rig.ts'

/** Longer than any case: only a wake-up can serve a waiter in time. */
const TTL_MS = 600_000

function telling(name: string, run: (rig: Rig, ttlMs: number) => Promise<void>): Draft {
  return {
    law: 'keep',
    name,
    async run(rig) {
      const { push, ttlMsMax } = await rig.traits()
      if (push !== 'none') await run(rig, Math.min(TTL_MS, ttlMsMax ?? TTL_MS))
    },
  }
}

function lines(hf: Holdfast): Pick<Driver, 'list'> {
  return { list: (prefix) => hf.list({ prefix }) }
}

/** An instance, and how often it has called the store. */
async function counted(rig: Rig): Promise<{ readonly hf: Holdfast; calls(): number }> {
  const drivers: FaultyDriver[] = []
  const hf = await rig.holdfast({}, (driver) => {
    const counting = new FaultyDriver(driver, {})
    drivers.push(counting)
    return counting
  })
  return { hf, calls: () => (drivers[0] as FaultyDriver).calls }
}

async function pairs(hf: Holdfast, name: string, count: number, ttlMs: number): Promise<bigint[]> {
  const tokens: bigint[] = []
  for (let i = 0; i < count; i++) {
    const held = await hf.mutex(name, { keep: true, ttlMs }).acquire()
    tokens.push(held.token)
    assert.equal(await held.release(), true)
  }
  return tokens
}

export const kept: Draft[] = [
  {
    law: 'keep',
    name: 'where a store tells nobody it is refused, and so is what does not go with it',
    async run(rig) {
      const hf = await rig.holdfast()
      const name = rig.name()
      if (hf.traits.push === 'none') {
        assert.throws(() => hf.mutex(name, { keep: true }), UnsupportedError)
        const held = await hf.mutex(name).acquire()
        assert.throws(() => held.wanted, UnsupportedError)
        return
      }
      assert.throws(() => hf.mutex(name, { keep: true, renew: false }), UsageError)
      assert.throws(() => hf.mutex(name, { keep: 0 }), UsageError)
      if (hf.traits.fair) assert.throws(() => hf.mutex(name, { keep: true, fairness: 'strict' }), UsageError)
    },
  },
  telling('the next acquire here asks no store, and every hold has a higher token', async (rig, ttlMs) => {
    const { hf, calls } = await counted(rig)
    const name = rig.name()
    const tokens = await pairs(hf, name, 1, ttlMs)
    // A slow store reports our own arrival so late that the process gives the place back: then the next place stays.
    await until('200 holds ask the store a few times at the most, and the place stays in the line', async () => {
      const before = calls()
      tokens.push(...(await pairs(hf, name, 200, ttlMs)))
      return calls() - before <= 5 && (await crowd(lines(hf), name)) === 1
    })
    assert.ok(tokens.every((token, i) => i === 0 || token > (tokens[i - 1] as bigint)))
  }),
  telling('after all numbers of a place are used the lock goes on with a fresh place', async (rig, ttlMs) => {
    const hf = await rig.holdfast()
    const tokens = await pairs(hf, rig.name(), 2_500, ttlMs)
    assert.ok(tokens.every((token, i) => i === 0 || token > (tokens[i - 1] as bigint)))
  }),
  telling('somebody else is served as soon as it asks, though nobody here does anything', async (rig, ttlMs) => {
    const [a, b] = [await rig.holdfast(), await rig.holdfast()]
    for (let i = 0; i < 5; i++) {
      const name = rig.name()
      const [last = 0n] = await pairs(a, name, 1, ttlMs)
      // Now and then as the first one comes to rest, now and then long after it.
      await pause(i * 40)
      const held = await within('it is served', b.mutex(name, { ttlMs }).acquire())
      assert.ok(held.token > last)
      assert.equal(await a.mutex(name, { keep: true, ttlMs }).tryAcquire(), null)
      await held.release()
      await (await within('and back', a.mutex(name, { keep: true, ttlMs }).acquire())).release()
    }
  }),
  telling('a busy process does not keep others out', async (rig, ttlMs) => {
    const [a, b] = [await rig.holdfast(), await rig.holdfast()]
    const name = rig.name()
    let inside = 0
    const end = new AbortController()
    const enter = async (): Promise<void> => {
      inside++
      assert.equal(inside, 1, 'one at a time')
      await pause(0)
      inside--
    }
    const busy = Array.from({ length: 4 }, async () => {
      while (!end.signal.aborted) await a.mutex(name, { keep: true, ttlMs }).using(enter)
    })
    try {
      for (let i = 0; i < 20; i++) {
        await within('it gets its turn', b.mutex(name, { keep: i % 2 === 0, ttlMs }).using(enter))
      }
    } finally {
      end.abort()
    }
    await within('all come to an end', Promise.all(busy))
  }),
  telling('a kept lock can be broken, and comes back with a higher token', async (rig, ttlMs) => {
    const [a, b] = [await rig.holdfast(), await rig.holdfast()]
    const name = rig.name()
    const [last = 0n] = await pairs(a, name, 1, ttlMs)
    assert.equal(await b.break(name, { now: true }), 1)
    const held = await within('it is free', b.mutex(name, { ttlMs }).acquire())
    assert.ok(held.token > last)
    await held.release()
    // A process that has not heard of the break may go on with its place, as may any holder that was broken at once.
    await until('the process has heard of it, and holds with a higher token', async () => {
      const again = await a.mutex(name, { keep: true, ttlMs }).acquire()
      const isHigher = again.token > held.token
      await again.release()
      return isHigher
    })
  }),
  telling('it goes after its time without use, and with its instance', async (rig, ttlMs) => {
    const [a, b] = [await rig.holdfast(), await rig.holdfast()]
    const [short, long] = [rig.name(), rig.name()]
    await (await a.mutex(short, { keep: 200, ttlMs }).acquire()).release()
    await until('its time is over', async () => (await crowd(lines(b), short)) === 0)
    await pairs(a, long, 1, ttlMs)
    await a.close()
    assert.equal(await crowd(lines(b), long), 0)
  }),
  telling('a holder is told that somebody waits, and not before', async (rig) => {
    const [a, b] = [await rig.holdfast(), await rig.holdfast()]
    const name = rig.name()
    let told = 0
    const held = await a.mutex(name, { ttlMs: LONG_TTL_MS, onWanted: () => void told++ }).acquire()
    await pause(300)
    assert.equal(held.wanted.aborted, false)
    assert.equal(told, 0)
    const waiting = b.mutex(name).acquire()
    await until('it is told', () => held.wanted.aborted)
    await until('the listener, too', () => told === 1)
    held.assertHeld()
    assert.equal(await held.release(), true)
    const next = await within('the waiter is served', waiting)
    await next.release()
    const late = await a.mutex(name).acquire()
    const behind = b.mutex(name).acquire()
    await until('somebody waits', async () => (await crowd(lines(a), name)) === 2)
    await until('who asks late is told of it as well', () => late.wanted.aborted)
    await late.release()
    await (await behind).release()
  }),
]
