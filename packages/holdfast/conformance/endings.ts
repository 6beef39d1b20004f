/** However an acquisition ends, and whenever: it leaves nothing in the line. */
import assert from 'node:assert/strict'
import { ClosedError } from '../src/contract/errors.ts'
import type { Draft } from './case.ts'
import { FaultyDriver } from './faulty.ts'
import { crowd, PATIENCE_MS, type Rig, until, within } from './rig.ts'

/** Aborts at call number `at` of a contended or free acquisition. False: the run had no such call. */
async function abortAt(rig: Rig, at: number, when: 'before' | 'after', contended: boolean): Promise<boolean> {
  const line = rig.name('abort')
  const controller = new AbortController()
  const reason = new Error(`abort ${when} call ${at}`)
  let hit = false
  const act = (call: number): void => {
    if (call !== at) return
    hit = true
    controller.abort(reason)
  }
  const other = await rig.holdfast()
  const hf = await rig.holdfast(
    {},
    (driver) => new FaultyDriver(driver, when === 'before' ? { before: act } : { after: act }),
  )
  const holder = contended ? await other.mutex(line).acquire() : null
  const asking = hf.mutex(line, { ttlMs: 2 * PATIENCE_MS }).acquire({ signal: controller.signal })
  // It is open whether the caller gets the lock or the abort comes first. In both cases nothing may be left behind.
  const settling = asking.catch((error: unknown) => error as Error)
  const list = { list: (prefix: string) => other.list({ prefix }) }
  if (holder !== null) {
    await until('the caller stands in line or has gone', async () => hit || (await crowd(list, line)) === 2)
    await holder.release()
  }
  const outcome = await within('the acquisition settles', settling)
  if (outcome instanceof Error) assert.equal(outcome, reason)
  else await outcome.release()
  // The caller learns of an abort at once, while its enter may still be on the way. The enter may arrive after the line
  // was seen empty, and is taken back then. So the line is free *soon*: a forgotten place would stand longer than
  // `until` waits.
  await until('the line is free', async () => {
    const next = await other.mutex(line).tryAcquire()
    await next?.release()
    return next !== null
  })
  await until('nothing is left in the line', async () => (await crowd(list, line)) === 0)
  await hf.close()
  await other.close()
  return hit
}

function abortEverywhere(contended: boolean): Draft {
  return {
    law: 'enter',
    name: `abort at every step of ${contended ? 'a contended' : 'a free'} acquisition leaves no trace`,
    timeoutMs: 120_000,
    async run(rig) {
      let steps = 0
      for (const when of ['before', 'after'] as const) {
        for (let at = 1; at <= 6 && (await abortAt(rig, at, when, contended)); at++) steps++
      }
      assert.ok(steps >= 2, `only ${steps} steps were seen`)
    },
  }
}

export const endings: Draft[] = [
  abortEverywhere(false),
  abortEverywhere(true),
  {
    law: 'leave',
    name: 'time-outs of many waiters leave only the holder in the line',
    async run(rig) {
      const [a, b] = [await rig.holdfast(), await rig.holdfast()]
      const line = rig.name()
      const held = await a.mutex(line).acquire()
      const fairness = a.traits.fair ? 'strict' : 'local'
      const waits = Array.from({ length: 40 }, (_, i) => b.mutex(line, { fairness }).acquire({ waitMs: 1 + i * 4 }))
      const ends = await Promise.allSettled(waits)
      assert.ok(ends.every((end) => end.status === 'rejected'))
      const list = { list: (prefix: string) => a.list({ prefix }) }
      await until('only the holder is left', async () => (await crowd(list, line)) === 1)
      held.assertHeld()
      await held.release()
    },
  },
  {
    law: 'leave',
    name: 'close gives back what is held, rejects who waits, and refuses what comes after',
    async run(rig) {
      const [a, b] = [await rig.holdfast(), await rig.holdfast()]
      const line = rig.name()
      const other = rig.name()
      const held = await a.mutex(line).acquire()
      const foreign = await b.mutex(other).acquire()
      const waiting = a.mutex(other).acquire()
      const list = { list: (prefix: string) => b.list({ prefix }) }
      await until('the waiter stands in line', async () => (await crowd(list, other)) === 2)
      const rejected = assert.rejects(waiting, ClosedError)
      await a.close()
      await rejected
      assert.equal(held.state, 'released')
      await until('the line is free', async () => (await crowd(list, line)) === 0)
      await until('the waiter has left', async () => (await crowd(list, other)) === 1)
      assert.throws(() => a.mutex(line), ClosedError)
      await a.close()
      await foreign.release()
    },
  },
  {
    law: 'leave',
    name: 'a hold is let go at the end of its block (await using)',
    async run(rig) {
      const hf = await rig.holdfast()
      const line = rig.name()
      const held = await hf.mutex(line).acquire()
      await held[Symbol.asyncDispose]()
      assert.equal(held.state, 'released')
      assert.equal(await crowd({ list: (prefix) => hf.list({ prefix }) }, line), 0)
    },
  },
]
