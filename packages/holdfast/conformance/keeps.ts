/** How long a hold keeps others away after its work, and holds that other processes continue. */
import assert from 'node:assert/strict'
import { NotHeldError, UnsupportedError, UsageError } from '../src/contract/errors.ts'
import type { Draft } from './case.ts'
import { Errand } from './errand.ts'
import { FaultyDriver, lost } from './faulty.ts'
import { crowd, shortTtlMs, within } from './rig.ts'

const MIN_HOLD_MS = 1_500

export const keeps: Draft[] = [
  {
    law: 'min-hold',
    name: 'work that ends at once still keeps others away, also when its instance has closed',
    async run(rig) {
      const [hf, other] = [await rig.holdfast(), await rig.holdfast()]
      const line = rig.name()
      if (!hf.traits.lingers) {
        assert.throws(() => hf.mutex(line, { minHoldMs: 1 }), UnsupportedError)
        return
      }
      const from = performance.now()
      const ttlMs = shortTtlMs(hf.traits)
      assert.equal(await hf.mutex(line, { ttlMs, minHoldMs: MIN_HOLD_MS }).using(() => 'done'), 'done')
      const early = await hf.mutex(line, { ttlMs }).tryAcquire()
      const isOver = performance.now() - from >= MIN_HOLD_MS
      assert.ok(early === null || isOver, 'the same process is kept away as well')
      await hf.close()
      const held = await within('the next is served', other.mutex(line).acquire())
      assert.ok(performance.now() - from >= MIN_HOLD_MS, 'it was served too early')
      await held.release()
    },
  },
  {
    law: 'min-hold',
    name: 'a holder that is killed at once keeps others away as long',
    async run(rig) {
      const { lingers, scope, ttlMsMin } = await rig.traits()
      if (scope === 'process' || !lingers) return
      const line = rig.name()
      const child = await Errand.start(rig)
      const minHoldMs = Math.max(MIN_HOLD_MS, ttlMsMin)
      const from = performance.now()
      child.order({ kind: 'hold', line, ttlMs: ttlMsMin, minHoldMs })
      await child.told('held')
      child.signal('SIGKILL')
      await child.exited
      const hf = await rig.holdfast()
      const held = await within('the next is served', hf.mutex(line).acquire())
      assert.ok(performance.now() - from >= minHoldMs, 'it was served too early')
      await held.release()
    },
  },
  {
    law: 'lock-delay',
    name: 'after a loss others wait for a while longer; after a release they do not',
    async run(rig) {
      const lockDelayMs = 2_000
      const traits = await rig.traits()
      // The holder loses touch, and then leaves; or it has died, and no request comes any more.
      for (const cut of [['touch'], ['touch', 'leave']]) {
        let isCut = false
        const hf = await rig.holdfast({}, (driver) => {
          return new FaultyDriver(driver, {
            before(call, method) {
              if (isCut && cut.includes(method)) throw lost(call)
            },
          })
        })
        const other = await rig.holdfast()
        const line = rig.name()
        const ttlMs = Math.max(traits.ttlMsMin, 600)
        if (!traits.lingers) {
          assert.throws(() => hf.mutex(line, { lockDelayMs }), UnsupportedError)
          return
        }
        // With a long lease: a hold whose lease ends before its release is a lost hold.
        await (await hf.mutex(line, { lockDelayMs }).acquire()).release()
        const free = await other.mutex(line).tryAcquire()
        assert.ok(free, 'a release is no loss')
        await free.release()
        const held = await hf.mutex(line, { ttlMs, lockDelayMs }).acquire()
        isCut = true
        // By its own clock, because the timer that reports the loss may be late.
        const lostAt = performance.now() + held.remainingMs
        const told = new Promise<void>((resolve) => {
          if (held.signal.aborted) resolve()
          else held.signal.addEventListener('abort', () => resolve())
        })
        await within('the loss is told', told)
        const next = await within('the next is served', other.mutex(line).acquire())
        assert.ok(performance.now() - lostAt >= lockDelayMs * 0.9, 'it was served too early')
        await next.release()
        isCut = false
      }
    },
  },
  {
    law: 'hand-on',
    name: 'a hold goes on in other hands, exactly once, and its token rises',
    async run(rig) {
      const [a, b, c] = [await rig.holdfast(), await rig.holdfast(), await rig.holdfast()]
      const line = rig.name()
      const lock = a.mutex(line)
      const mine = await lock.acquire()
      if ((await rig.driver()).rename === undefined) {
        await assert.rejects(mine.export(), UnsupportedError)
        assert.equal(mine.state, 'held', 'refused, nothing is given up')
        return
      }
      const text = await mine.export()
      assert.equal(mine.state, 'released')
      assert.throws(() => mine.assertHeld(), NotHeldError)
      assert.equal(await c.mutex(line).tryAcquire(), null, 'on its way it is still held')
      const claims = await Promise.allSettled([b.adopt(text), c.adopt(text)])
      const theirs = claims.flatMap((claim) => (claim.status === 'fulfilled' ? [claim.value] : []))
      assert.equal(theirs.length, 1)
      const refused = claims.find((claim) => claim.status === 'rejected')
      assert.ok(refused?.reason instanceof NotHeldError)
      const [heir] = theirs
      assert.ok(heir !== undefined && heir.token > mine.token)
      heir.assertHeld()
      const waiting = lock.acquire()
      assert.equal(await heir.release(), true)
      const next = await within('those behind are served', waiting)
      assert.ok(next.token > heir.token)
      await next.release()
      await assert.rejects(a.adopt(text), NotHeldError)
      assert.equal(await crowd({ list: (prefix) => a.list({ prefix }) }, line), 0)
    },
  },
  {
    law: 'hand-on',
    name: 'a name of any characters is handed on',
    async run(rig) {
      if ((await rig.driver()).rename === undefined) return
      const hf = await rig.holdfast()
      const mark = rig.name()
      // The longest name in JSON: each character takes six bytes there.
      const line = mark + '\u0001'.repeat(512 - Buffer.byteLength(mark))
      const held = await hf.mutex(line).acquire()
      const heir = await hf.adopt(await held.export())
      assert.equal(heir.name, line)
      heir.assertHeld()
      assert.equal(await heir.release(), true)
    },
  },
  {
    law: 'hand-on',
    name: 'what is no such text, and a hold that was entered again, are refused',
    async run(rig) {
      const hf = await rig.holdfast()
      const line = rig.name()
      for (const text of ['', 'nonsense', Buffer.from('{}').toString('base64url')]) {
        await assert.rejects(hf.adopt(text), UsageError)
      }
      if ((await rig.driver()).rename === undefined) return
      await hf.mutex(line).using(async (held) => {
        const inner = await hf.mutex(line).acquire()
        await assert.rejects(held.export(), UsageError)
        await inner.release()
        held.assertHeld()
      })
    },
  },
]
