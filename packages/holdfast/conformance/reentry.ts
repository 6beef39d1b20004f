/** Re-entry by async context and by owner: nested yes, side by side one after the other, afterwards not at all. */
import assert from 'node:assert/strict'
import { AcquireTimeoutError, UsageError } from '../src/contract/errors.ts'
import type { Draft } from './case.ts'
import { crowd, pause, within } from './rig.ts'

export const reentry: Draft[] = [
  {
    law: 'reentry',
    name: 'work inside using takes the same lock again, at any depth, and takes no second place',
    async run(rig) {
      const hf = await rig.holdfast()
      const line = rig.name()
      await hf.mutex(line).using(async (outer) => {
        await hf.mutex(line).using(async () => {
          const held = await hf.mutex(line).acquire()
          assert.equal(held.token, outer.token)
          assert.equal(await crowd({ list: (prefix) => hf.list({ prefix }) }, line), 1)
          await held.release()
        })
        outer.assertHeld()
      })
      assert.equal(await crowd({ list: (prefix) => hf.list({ prefix }) }, line), 0)
    },
  },
  {
    law: 'reentry',
    name: 'concurrent children of one hold take turns',
    async run(rig) {
      const mutex = (await rig.holdfast()).mutex(rig.name())
      let inside = 0
      let most = 0
      await mutex.using(async () => {
        const child = (): Promise<void> =>
          mutex.using(async () => {
            most = Math.max(most, ++inside)
            await mutex.using(() => pause(5))
            inside--
          })
        await within('all children are served', Promise.all([child(), child(), child()]))
        assert.equal(await mutex.using(() => mutex.name), mutex.name)
      })
      assert.equal(most, 1)
    },
  },
  {
    law: 'reentry',
    name: 'a sibling can be refused, time out and be aborted while it waits for its turn',
    async run(rig) {
      const mutex = (await rig.holdfast()).mutex(rig.name())
      await mutex.using(async () => {
        let done = (): void => {}
        const busy = mutex.using(() => new Promise<void>((resolve) => (done = resolve)))
        await pause(0)
        const sideways = { controller: new AbortController(), reason: new Error('enough') }
        assert.equal(await mutex.tryAcquire(), null)
        await assert.rejects(mutex.acquire({ waitMs: 10 }), AcquireTimeoutError)
        const aborted = mutex.acquire({ signal: sideways.controller.signal })
        sideways.controller.abort(sideways.reason)
        await assert.rejects(aborted, (error) => error === sideways.reason)
        done()
        await busy
      })
    },
  },
  {
    law: 'reentry',
    name: 'a background task that outlives the hold is no holder any more',
    async run(rig) {
      const [hf, other] = [await rig.holdfast(), await rig.holdfast()]
      const line = rig.name()
      let go = (): void => {}
      const started = new Promise<void>((resolve) => (go = resolve))
      let background: Promise<boolean> = Promise.resolve(false)
      await hf.mutex(line).using(() => {
        background = started.then(async () => (await hf.mutex(line).tryAcquire()) === null)
      })
      const held = await other.mutex(line).acquire()
      go()
      assert.equal(await background, true, 'it must see that somebody else holds the line')
      await held.release()
    },
  },
  {
    law: 'reentry',
    name: 'a nested hold that outlives the outer one keeps the place until it ends',
    async run(rig) {
      const [hf, other] = [await rig.holdfast(), await rig.holdfast()]
      const line = rig.name()
      let inner: Promise<void> = Promise.resolve()
      let finish = (): void => {}
      await hf.mutex(line).using(async () => {
        await new Promise<void>((entered) => {
          inner = hf.mutex(line).using(() => {
            entered()
            return new Promise<void>((resolve) => (finish = resolve))
          })
        })
      })
      assert.equal(await other.mutex(line).tryAcquire(), null)
      finish()
      await inner
      await (await within('the line is free', other.mutex(line).acquire())).release()
    },
  },
  {
    law: 'reentry',
    name: 'the same owner enters again, another does not, and the count decides when the place is left',
    async run(rig) {
      const hf = await rig.holdfast()
      const mutex = hf.mutex(rig.name())
      for (const [owner, stranger] of [
        [{}, {}],
        [Symbol('a'), Symbol('a')],
      ] as const) {
        const first = await mutex.acquire({ owner })
        const second = await mutex.acquire({ owner })
        assert.equal(second.token, first.token)
        assert.equal(await mutex.tryAcquire({ owner: stranger }), null)
        await first.release()
        assert.equal(second.state, 'held')
        assert.equal(await mutex.tryAcquire({ owner: stranger }), null)
        await second.release()
        await (await within('the stranger is served', mutex.acquire({ owner: stranger }))).release()
      }
    },
  },
  {
    law: 'reentry',
    name: 'a writer may read, a reader may read again, a reader may not write',
    async run(rig) {
      const { read, write } = (await rig.holdfast()).rwLock(rig.name())
      await write.using(async (writing) => {
        assert.equal(await read.using(({ token }) => token), writing.token)
      })
      await read.using(async (reading) => {
        assert.equal(await read.using(({ token }) => token), reading.token)
        await assert.rejects(write.acquire(), UsageError)
      })
    },
  },
  {
    law: 'reentry',
    name: 'semaphores never re-enter, and reentrant: false turns it off',
    async run(rig) {
      const hf = await rig.holdfast()
      const mutex = hf.mutex(rig.name(), { reentrant: false })
      await mutex.using(async () => assert.equal(await mutex.tryAcquire(), null))
      if (!hf.traits.counting) return
      const semaphore = hf.semaphore(rig.name(), 1)
      await semaphore.using(async () => assert.equal(await semaphore.tryAcquire(), null))
    },
  },
]
