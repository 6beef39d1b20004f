/** Ids and segments: nothing is ever made twice, whichever process stops, starts or takes over. */
import assert from 'node:assert/strict'
import { CapacityMismatchError, ClosedError, UsageError } from '../src/contract/errors.ts'
import type { Draft } from './case.ts'
import { until, within } from './rig.ts'

export const ids: Draft[] = [
  {
    law: 'ids',
    name: 'two clients are two workers; ids rise, and say when and by whom they were made',
    async run(rig) {
      const name = rig.name('ids')
      const [a, b] = [(await rig.holdfast()).ids({ name }), (await rig.holdfast()).ids({ name })]
      const made = await within(
        'ids are made',
        Promise.all(Array.from({ length: 2_000 }, (_, i) => (i % 2 ? a : b).next())),
      )
      assert.equal(new Set(made).size, 2_000)
      assert.notEqual(a.worker, b.worker)
      const [first, second] = [await a.next(), await a.next()]
      assert.ok(second > first)
      const { timeMs, worker } = a.parts(first)
      assert.equal(worker, a.worker)
      assert.ok(Math.abs(timeMs - Date.now()) < 60_000)
      assert.deepEqual(a.parts(await a.nextString()).worker, worker)
      assert.ok(a.yearsLeft > 30)
    },
  },
  {
    law: 'ids',
    name: 'the next owner of a slot begins beyond what the last one may have used',
    async run(rig) {
      const name = rig.name('ids')
      const [hf, other, observer] = [await rig.holdfast(), await rig.holdfast(), await rig.holdfast()]
      const options = { name, workerBits: 1, ttlMs: Math.max(hf.traits.ttlMsMin, 9_000) }
      const mine = hf.ids(options)
      const made = [await mine.next(), await mine.next()]
      const slot = `holdfast/ids/${name}/${mine.worker}`
      const horizon = observer.cell<{ untilMs: number }>(slot)
      const before = (await horizon.read()).value?.untilMs ?? 0
      assert.ok(before >= mine.parts(made[1] as bigint).timeMs, 'stored before it is used')
      // As after a crash: the slot is taken away, and nothing is given back.
      await other.break(slot, { now: true })
      await until('it is told of its loss', () => mine.worker === null)
      // Within the millisecond of its last look it may still make some ids: they are below the horizon.
      await until('it makes no more', () => mine.tryNext() === null)
      const [x, y] = [other.ids(options), observer.ids(options)]
      made.push(await x.next(), await y.next())
      assert.equal(new Set([x.worker, y.worker]).size, 2, 'both slots are in use again')
      const heir = `holdfast/ids/${name}/${x.worker}` === slot ? x : y
      assert.ok(heir.parts(made[heir === x ? 2 : 3] as bigint).timeMs > before, 'beyond the horizon')
      assert.equal(new Set(made).size, 4)
    },
  },
  {
    law: 'ids',
    name: 'a closed worker gives its slot back; another layout under the same name is refused',
    async run(rig) {
      const name = rig.name('ids')
      const [hf, other] = [await rig.holdfast(), await rig.holdfast()]
      const options = { name, workerBits: 1, sequenceBits: 8 }
      const held = [hf.ids(options), hf.ids(options)]
      const made = [await held[0]?.next(), await held[1]?.next()]
      await held[0]?.close()
      await assert.rejects(held[0]?.next() ?? Promise.resolve(), ClosedError)
      const next = other.ids(options)
      made.push(await within('the slot is free', next.next()))
      assert.equal(new Set(made).size, 3)
      await assert.rejects(other.ids({ name }).next(), CapacityMismatchError)
      await hf.close()
      await assert.rejects(held[1]?.next() ?? Promise.resolve(), ClosedError)
      await (await rig.holdfast()).ids(options).next()
    },
  },
  {
    law: 'segments',
    name: 'numbers of several clients never repeat, rise for each, and a close leaves no gap',
    async run(rig) {
      const name = rig.name('segments')
      const [a, b] = [await rig.holdfast(), await rig.holdfast()]
      const [mine, theirs] = [a.segments(name, { step: 10 }), b.segments(name, { step: 10 })]
      const made = await Promise.all(Array.from({ length: 300 }, (_, i) => (i % 2 ? mine : theirs).next()))
      assert.equal(new Set(made).size, 300)
      const [odd, even] = [made.filter((_, i) => i % 2), made.filter((_, i) => i % 2 === 0)]
      for (const one of [odd, even]) {
        assert.deepEqual(
          one,
          one.toSorted((x, y) => (x < y ? -1 : 1)),
        )
      }
      const alone = a.segments(`${name}/alone`, { step: 50 })
      assert.deepEqual([await alone.next(), await alone.next()], [1n, 2n])
      await alone.close()
      await assert.rejects(alone.next(), ClosedError)
      assert.equal(await b.segments(`${name}/alone`).next(), 3n)
      assert.throws(() => a.segments(name, { step: 0 }), UsageError)
    },
  },
]
