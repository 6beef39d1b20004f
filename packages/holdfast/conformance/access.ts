/** The public promises of one lock: waiting, trying, time-outs, aborts, and several calls at once on one object. */
import assert from 'node:assert/strict'
import { AcquireTimeoutError, NotHeldError, UnsupportedError, UsageError } from '../src/contract/errors.ts'
import type { Lock } from '../src/acquire/lock.ts'
import type { Holdfast } from '../src/holdfast.ts'
import type { Draft } from './case.ts'
import { crowd, timesOut, until, within } from './rig.ts'

/** The promises of a mutex hold for every lock that can stand for a mutex. */
interface Stand {
  readonly what: string
  readonly counting?: boolean
  lock(hf: Holdfast, name: string): Lock
  /** Taken beforehand, so that one permit is left. */
  prepare?(hf: Holdfast, name: string): Promise<void>
}

const STANDS: Stand[] = [
  { what: 'a mutex', lock: (hf, name) => hf.mutex(name) },
  { what: 'a strict mutex', lock: (hf, name) => hf.mutex(name, strictly(hf)) },
  { what: 'a write lock', lock: (hf, name) => hf.rwLock(name).write },
  { what: 'a semaphore of 1', counting: true, lock: (hf, name) => hf.semaphore(name, 1) },
  {
    what: 'a semaphore of 5 with 4 taken',
    counting: true,
    lock: (hf, name) => hf.semaphore(name, 5),
    async prepare(hf, name) {
      await hf.semaphore(name, 5).acquire({ permits: 4 })
    },
  },
]

function strictly(hf: Holdfast): { fairness: 'strict' } | undefined {
  return hf.traits.fair ? { fairness: 'strict' } : undefined
}

function asMutex(name: string, run: (a: Lock, b: Lock, free: () => Promise<number>) => Promise<void>): Draft[] {
  return STANDS.map((stand) => ({
    law: 'exclusion',
    name: `${stand.what}: ${name}`,
    async run(rig) {
      const line = rig.name()
      const [hfA, hfB] = [await rig.holdfast(), await rig.holdfast()]
      if (stand.counting === true && !hfA.traits.counting) {
        assert.throws(() => stand.lock(hfA, line), UnsupportedError)
        return
      }
      await stand.prepare?.(hfA, line)
      const list = { list: (prefix: string) => hfA.list({ prefix }) }
      const base = await crowd(list, line)
      await run(stand.lock(hfA, line), stand.lock(hfB, line), async () => (await crowd(list, line)) - base)
    },
  }))
}

export const access: Draft[] = [
  ...asMutex('held by one, tried by another in vain, then free again', async (a, b, taken) => {
    const held = await a.acquire()
    assert.equal(held.state, 'held')
    assert.ok(held.remainingMs > 0)
    held.assertHeld()
    assert.equal(await b.tryAcquire(), null)
    assert.equal(await held.release(), true)
    assert.equal(await held.release(), true, 'release is idempotent')
    assert.equal(held.state, 'released')
    assert.equal(held.signal.aborted, false, 'a release is not a loss')
    assert.throws(() => held.assertHeld(), NotHeldError)
    const next = await within('the lock is free again', b.acquire())
    assert.equal(await taken(), 1)
    await next.release()
    assert.equal(await taken(), 0)
  }),
  ...asMutex('a waiter gets it when the holder lets go', async (a, b, taken) => {
    const held = await a.acquire()
    const waiting = b.acquire()
    await until('the waiter stands in line', async () => (await taken()) === 2)
    await held.release()
    const next = await within('the waiter is served', waiting)
    assert.ok(next.token > held.token)
    await next.release()
  }),
  ...asMutex('waitMs ends the wait with AcquireTimeoutError and leaves no trace', async (a, b, taken) => {
    const held = await a.acquire()
    await timesOut((waitMs) => b.acquire({ waitMs }), 500)
    await assert.rejects(b.acquire({ waitMs: 0 }), AcquireTimeoutError)
    await until('nothing is left of the wait', async () => (await taken()) === 1)
    held.assertHeld()
    await held.release()
  }),
  ...asMutex("an abort rejects with the signal's own reason and leaves no trace", async (a, b, taken) => {
    const held = await a.acquire()
    const reason = new Error('changed my mind')
    const controller = new AbortController()
    const waiting = b.acquire({ signal: controller.signal })
    await until('the waiter stands in line', async () => (await taken()) === 2)
    controller.abort(reason)
    await assert.rejects(waiting, (error) => error === reason)
    await assert.rejects(b.acquire({ signal: controller.signal }), (error) => error === reason)
    await assert.rejects(b.tryAcquire({ signal: controller.signal }), (error) => error === reason)
    await until('nothing is left of the wait', async () => (await taken()) === 1)
    await held.release()
  }),
  ...asMutex("using gives the work's result, or its error, and lets go in both cases", async (a, b, taken) => {
    assert.equal(await a.using(async (held) => held.name), a.name)
    const broken = new Error('the work failed')
    await assert.rejects(
      b.using(() => {
        throw broken
      }),
      (error) => error === broken,
    )
    assert.equal(await taken(), 0)
    await assert.rejects(a.using(undefined as never), UsageError)
  }),
  {
    law: 'exclusion',
    name: 'readers share, a writer does not, and readers behind a waiting writer wait',
    async run(rig) {
      const line = rig.name()
      const [a, b] = [await rig.holdfast(), await rig.holdfast()]
      const readers = [await a.rwLock(line).read.acquire(), await b.rwLock(line).read.acquire()]
      assert.equal(await b.rwLock(line).write.tryAcquire(), null)
      const writing = b.rwLock(line).write.acquire()
      const list = { list: (prefix: string) => a.list({ prefix }) }
      if (a.traits.fair) {
        await until('the writer stands in line', async () => (await crowd(list, line)) === 3)
        assert.equal(await a.rwLock(line).read.tryAcquire(), null, 'a reader must not overtake a writer')
      }
      for (const reader of readers) await reader.release()
      const writer = await within('the writer is served', writing)
      assert.equal(await a.rwLock(line).read.tryAcquire(), null)
      await writer.release()
      await (await within('readers are served again', a.rwLock(line).read.acquire())).release()
    },
  },
]
