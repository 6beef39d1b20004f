/**
 * What a store may do beyond the contract's core: places that outlast their leave, several lines in one step, handing a
 * place on, rate limits.
 */
import assert from 'node:assert/strict'
import { CapacityMismatchError } from '../src/contract/errors.ts'
import { type Demand, type Entry, isGranted, type Place } from '../src/contract/driver.ts'
import type { Draft } from './case.ts'
import { stand, standBriefly } from './laws.ts'
import { crowd, entry, lineOf, pause, until } from './rig.ts'

const ALL = 1_000_000

/** One call costs an hour of draining: nothing comes back while a case runs. */
const SLOW: Demand = { cost: 1, burst: 3, unit: 3_600_000_000, drain: 1, shutAfter: 0, shutMs: 0 }

export const extras: Draft[] = [
  {
    law: 'lingers',
    name: 'a place that is left with a delay stays, unrenewed, also when its client has gone',
    async run(rig) {
      const [a, b] = [await rig.driver(), await rig.driver()]
      if (!a.traits.lingers) return
      const line = rig.name()
      const mine = entry(line)
      const { token } = await stand(a, mine)
      const lingerMs = Math.max(1_500, b.traits.ttlMsMin)
      const sentAt = performance.now()
      await a.leave(mine, lingerMs)
      const [after] = await a.touch([mine])
      assert.equal(after, null, 'it can not be renewed any more')
      await a.close()
      const next = entry(line)
      const early = await b.enter(next, false)
      assert.ok(early === null || performance.now() - sentAt >= lingerMs, 'it still weighs')
      await until('it has gone', async () => (await b.enter(next, false)) !== null)
      assert.ok(performance.now() - sentAt >= lingerMs, 'it went before its time')
      const [place] = await b.touch([next])
      assert.ok(place && place.token > token)
    },
  },
  {
    law: 'enterAll',
    name: 'all places or none, and asked again it answers the same',
    async run(rig) {
      const [a, b] = [await rig.driver(), await rig.driver()]
      if (a.enterAll === undefined) return
      const lines = [rig.name('a'), rig.name('b'), rig.name('c')] as const
      const [x, y, z] = [
        entry(lines[0]),
        entry(lines[1], { weight: ALL, capacity: ALL }),
        entry(lines[2], { capacity: 3, weight: 2 }),
      ]
      const wanted: readonly Entry[] = [x, y, z]
      const places = await a.enterAll(wanted)
      // A store may answer that it can't do these in one step: lines of a cluster are on several nodes.
      if (places === null) return
      assert.equal(places.length, 3)
      for (const [i, place] of places.entries()) assert.ok(isGranted(wanted[i] as Entry, place))
      const again = await a.enterAll(wanted)
      assert.deepEqual(tokens(again), tokens(places))
      const other = [entry(lines[0]), entry(rig.name('d'))] as const
      assert.equal(await b.enterAll?.(other), null, 'one of them is held')
      assert.equal(await crowd(b, other[1].line), 0, 'and so the free one was not taken')
      assert.equal(await crowd(b, lines[0]), 1)
      const room = [entry(lines[2], { capacity: 3 }), other[1]] as const
      assert.ok(await b.enterAll?.(room), 'one permit is left')
      for (const at of [...wanted, ...room]) await a.leave(at)
      for (const line of lines) assert.equal(await crowd(a, line), 0)
    },
  },
  {
    law: 'enterAll',
    name: 'a line of another capacity refuses, and nothing is kept of the others',
    async run(rig) {
      const driver = await rig.driver()
      if (driver.enterAll === undefined) return
      const lines = [rig.name('a'), rig.name('b')] as const
      await stand(driver, entry(lines[1], { capacity: 5 }))
      const wanted = [entry(lines[0]), entry(lines[1])]
      try {
        assert.equal(await driver.enterAll(wanted), null)
      } catch (error) {
        assert.ok(error instanceof CapacityMismatchError, `a CapacityMismatchError, not ${String(error)}`)
      }
      assert.equal(await crowd(driver, lines[0]), 0)
    },
  },
  {
    law: 'rename',
    name: 'a place gets another id once; its token stays, and the old id is dead',
    async run(rig) {
      const [a, b, c] = [await rig.driver(), await rig.driver(), await rig.driver()]
      if (a.rename === undefined || b.rename === undefined || c.rename === undefined) return
      const line = rig.name()
      const mine = entry(line)
      const { token } = await stand(a, mine)
      const data = JSON.stringify({ label: 'heir', host: 'there', pid: 7 })
      const theirs = entry(line, { data })
      const place = await b.rename({ ...mine, data }, theirs.id)
      assert.ok(place)
      assert.equal(place.token, token)
      assert.ok(isGranted(theirs, place))
      assert.equal((await b.rename({ ...mine, data }, theirs.id))?.token, token, 'asked again, the same')
      assert.equal(await c.rename(mine, entry(line).id), null, 'it was handed on already')
      assert.deepEqual(await a.touch([mine]), [null], 'the old id is dead')
      assert.equal(await a.enter(mine, true), null, 'and does not stand in line a second time')
      await a.leave(mine)
      assert.equal(await a.enter(entry(line), false), null, 'and frees nothing')
      assert.deepEqual(
        (await lineOf(c, line)).holders.map(({ label }) => label),
        ['heir'],
      )
      const [kept] = await b.touch([theirs])
      assert.equal(kept?.token, token)
      await b.leave(theirs)
      assert.equal(await crowd(a, line), 0)
    },
  },
  {
    law: 'rename',
    name: 'what has lapsed or was left is not handed on',
    async run(rig) {
      const [a, b] = [await rig.driver(), await rig.driver()]
      if (a.rename === undefined || b.rename === undefined) return
      const line = rig.name()
      const gone = entry(line)
      await stand(a, gone)
      await a.leave(gone)
      assert.equal(await b.rename(gone, entry(line).id), null)
      const { at: brief } = await standBriefly(a, line)
      await a.close()
      await until('the place has lapsed', async () => (await crowd(b, line)) === 0)
      assert.equal(await b.rename(brief, entry(line).id), null)
    },
  },
  {
    law: 'take',
    name: 'a burst at once, then refused, and each key by itself',
    async run(rig) {
      const [a, b] = [await rig.driver(), await rig.driver()]
      if (a.take === undefined || b.take === undefined) return
      const [key, other] = [rig.name('limit'), rig.name('limit')]
      const first = await a.take(key, SLOW)
      assert.deepEqual([first.taken, first.left, first.retryMs, first.shut], [true, 2, 0, false])
      assert.ok(first.resetMs > 3_500_000 && first.resetMs <= 3_600_000)
      const second = await b.take(key, { ...SLOW, cost: 2 })
      assert.deepEqual([second.taken, second.left], [true, 0])
      const third = await a.take(key, SLOW)
      assert.deepEqual([third.taken, third.left], [false, 0])
      assert.ok(third.retryMs > 3_400_000 && third.retryMs <= 3_600_000, `${third.retryMs}`)
      assert.equal((await a.take(key, { ...SLOW, cost: 0 })).left, 0, 'a look takes nothing')
      assert.equal((await a.take(other, { ...SLOW, cost: 3 })).taken, true)
    },
  },
  {
    law: 'take',
    name: 'concurrent takers never get more than there is, and it drains by the store clock',
    async run(rig) {
      const drivers = [await rig.driver(), await rig.driver()]
      const key = rig.name('limit')
      if (drivers.some((driver) => driver.take === undefined)) return
      const wishes = Array.from({ length: 40 }, async (_, i) => drivers[i % 2]?.take?.(key, { ...SLOW, burst: 17 }))
      const answers = await Promise.all(wishes)
      assert.equal(answers.filter((answer) => answer?.taken).length, 17)
      const quick: Demand = { ...SLOW, burst: 1, unit: 400_000 }
      const brief = rig.name('limit')
      const sentAt = performance.now()
      assert.equal((await drivers[0]?.take?.(brief, quick))?.taken, true)
      await until('it has drained', async () => (await drivers[1]?.take?.(brief, quick))?.taken === true)
      assert.ok(performance.now() - sentAt >= 399, 'it drained before its time')
    },
  },
  {
    law: 'take',
    name: 'who goes on after too many refusals is shut out for a time',
    async run(rig) {
      const driver = await rig.driver()
      if (driver.take === undefined) return
      const key = rig.name('limit')
      const strict: Demand = { ...SLOW, burst: 1, unit: 100_000, shutAfter: 2, shutMs: 3_000 }
      const take = async () => driver.take?.(key, strict)
      assert.equal((await take())?.taken, true)
      // Refusals count while the bucket is not empty: ask faster than it drains, several at once.
      let shut: { readonly retryMs: number } | undefined
      let askedAt = 0
      await until('it is shut', async () => {
        askedAt = performance.now()
        const answers = await Promise.all([take(), take(), take(), take(), take(), take()])
        shut = answers.find((answer) => answer?.shut === true)
        return shut !== undefined
      })
      assert.ok(shut && shut.retryMs > 500 && shut.retryMs <= 3_000)
      await pause(300)
      const late = await take()
      const isOver = performance.now() - askedAt >= 3_000
      assert.ok(late?.taken === false || isOver, 'the bucket is empty by now, and still shut')
      await until('it is open again', async () => (await take())?.taken === true)
    },
  },
]

function tokens(places: readonly Place[] | null): bigint[] {
  return (places ?? []).map(({ token }) => token)
}
