/** Several locks as one: all or nothing, in one order everywhere. */
import assert from 'node:assert/strict'
import { UsageError } from '../src/contract/errors.ts'
import type { Holdfast } from '../src/holdfast.ts'
import type { Draft } from './case.ts'
import { FaultyDriver } from './faulty.ts'
import { crowd, pause, timesOut, within } from './rig.ts'

export const multis: Draft[] = [
  {
    law: 'multi',
    name: 'all are held together, in the order given, and let go together',
    async run(rig) {
      const [hf, other] = [await rig.holdfast(), await rig.holdfast()]
      const names = [rig.name('z'), rig.name('a')] as const
      const multi = hf.all([hf.mutex(names[0]), hf.rwLock(names[1]).write])
      const held = await multi.acquire()
      assert.deepEqual(
        held.holds.map(({ name }) => name),
        [...names],
      )
      held.assertHeld()
      assert.ok(held.remainingMs > 0)
      assert.equal(await other.mutex(names[0]).tryAcquire(), null)
      assert.equal(await other.rwLock(names[1]).read.tryAcquire(), null)
      assert.equal(await held.release(), true)
      for (const name of names) assert.equal(await crowd({ list: (prefix) => hf.list({ prefix }) }, name), 0)
    },
  },
  {
    law: 'multi',
    name: 'if one can not be had, none is kept',
    async run(rig) {
      const [hf, other] = [await rig.holdfast(), await rig.holdfast()]
      const names = [rig.name('a'), rig.name('b'), rig.name('c')]
      const taken = await other.mutex(names[2] as string).acquire()
      const multi = hf.all(names.map((name) => hf.mutex(name)))
      assert.equal(await multi.tryAcquire(), null)
      await timesOut((waitMs) => multi.acquire({ waitMs }), 500)
      const controller = new AbortController()
      const reason = new Error('enough')
      const aborted = multi.acquire({ signal: controller.signal })
      await pause(20)
      controller.abort(reason)
      await assert.rejects(aborted, (error) => error === reason)
      const free = await within(
        'the others are free',
        other.all([other.mutex(names[1] as string), other.mutex(names[0] as string)]).acquire(),
      )
      await free.release()
      await taken.release()
    },
  },
  {
    law: 'multi',
    name: 'aborted at any step it gives no hold, and leaves nothing behind',
    async run(rig) {
      const other = await rig.holdfast()
      const names = [rig.name('a'), rig.name('b')]
      const steps = (['before', 'after'] as const).flatMap((side) =>
        (['watch', 'enterAll', 'enter'] as const).map((method) => ({ side, method })),
      )
      for (const { side, method } of steps) {
        for (const ask of ['acquire', 'tryAcquire'] as const) {
          const controller = new AbortController()
          const reason = new Error('enough')
          const abort = (_call: number, called: string): void => {
            if (called === method) controller.abort(reason)
          }
          const hf = await rig.holdfast({}, (driver) => new FaultyDriver(driver, { [side]: abort }))
          const asked = hf.all(names.map((name) => hf.mutex(name)))[ask]({ signal: controller.signal })
          const outcome: unknown = await within(
            'it is settled',
            asked.catch((error: unknown) => error),
          )
          if (controller.signal.aborted) assert.equal(outcome, reason, `${ask} was aborted ${side} ${method}`)
          // A store that can't enter several lines at once has no such step.
          else await (await asked)?.release()
          const free = await within('the locks are free', other.all(names.map((name) => other.mutex(name))).acquire())
          await free.release()
        }
      }
    },
  },
  {
    law: 'multi',
    name: 'two that want the same locks in opposite orders never wait for each other',
    timeoutMs: 120_000,
    async run(rig) {
      const clients = [await rig.holdfast(), await rig.holdfast()]
      const names = [rig.name('a'), rig.name('b'), rig.name('c')]
      let inside = 0
      let most = 0
      const work = async (hf: Holdfast, reversed: boolean): Promise<void> => {
        const order = reversed ? names.toReversed() : names
        for (let i = 0; i < 12; i++) {
          await hf.all(order.map((name) => hf.mutex(name))).using(async () => {
            most = Math.max(most, ++inside)
            await pause(0)
            inside--
          })
        }
      }
      const tasks = clients.flatMap((hf) => [work(hf, false), work(hf, true)])
      await within('all have been served', Promise.all(tasks), 100_000)
      assert.equal(most, 1)
    },
  },
  {
    law: 'multi',
    name: 'its signal fires when any is lost, and its work may enter each of its locks again',
    async run(rig) {
      const [hf, other] = [await rig.holdfast(), await rig.holdfast()]
      const names = [rig.name('a'), rig.name('b')] as const
      const multi = hf.all([hf.mutex(names[0]), hf.mutex(names[1])])
      await multi.using(async ({ holds }) => {
        for (const [i, name] of names.entries()) {
          assert.equal(await hf.mutex(name).using(({ token }) => token), holds[i]?.token)
        }
      })
      const held = await multi.acquire()
      const lost = new Promise<void>((resolve) =>
        held.signal.addEventListener('abort', () => resolve(), { once: true }),
      )
      await other.break(names[1], { now: true })
      await within('the loss of one is told', lost)
      assert.throws(() => held.assertHeld())
      assert.equal(await held.release(), false)
    },
  },
  {
    law: 'multi',
    name: 'what can not be put in order is refused',
    async run(rig) {
      const [hf, other] = [await rig.holdfast(), await rig.holdfast()]
      const name = rig.name()
      assert.throws(() => hf.all([]), UsageError)
      assert.throws(() => hf.all([hf.mutex(name), hf.mutex(name)]), UsageError)
      assert.throws(() => hf.all([hf.mutex(name), other.mutex(name)]), UsageError)
      hf.all([hf.mutex(name, { label: 'east' }), other.mutex(name, { label: 'west' })])
      assert.throws(() => hf.all([{} as never]), UsageError)
    },
  },
]
