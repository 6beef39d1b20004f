/** The laws of the contract itself, on the driver's own methods: order, enter, touch, leave, owner, life, grant, capacity, watch. */
import assert from 'node:assert/strict'
import { CapacityMismatchError } from '../src/core/errors.ts'
import { isGranted, type Driver, type Entry, type Place } from '../src/driver.ts'
import type { Draft } from './case.ts'
import { crowd, entry, LONG_TTL_MS, shortTtlMs, until, within } from './rig.ts'

/** Enters and waits in line; null would mean that the id is dead. */
export async function stand(driver: Driver, at: Entry): Promise<Place> {
  const place = await driver.enter(at, true)
  assert.ok(place, 'enter with wait answered null for a fresh id')
  return place
}

/** Where the place stands now. */
async function look(driver: Driver, at: Entry): Promise<Place | null> {
  const [place] = await driver.touch([at])
  assert.notEqual(place, undefined, 'touch answered fewer places than it was asked for')
  return place ?? null
}

/** The place has become granted, by whatever wakes its holder in the end: asking. */
async function granted(driver: Driver, at: Entry): Promise<void> {
  await until('the next in line is granted', async () => {
    const place = await look(driver, at)
    assert.ok(place, 'a live place lapsed while it was renewed')
    return isGranted(at, place)
  })
}

export const laws: Draft[] = [
  {
    law: 'order',
    name: 'places stand in the order of their tokens, and each sees the weight in front',
    async run(rig) {
      const [a, b] = [await rig.driver(), await rig.driver()]
      const line = rig.name()
      const at = [1, 2, 3].map(() => entry(line))
      const first = await stand(a, at[0] as Entry)
      const second = await stand(b, at[1] as Entry)
      const third = await stand(a, at[2] as Entry)
      assert.ok(isGranted(at[0] as Entry, first))
      assert.ok(!isGranted(at[1] as Entry, second))
      assert.ok(!isGranted(at[2] as Entry, third))
      assert.ok(first.token < second.token && second.token < third.token, 'tokens rise in the order of entering')
    },
  },
  {
    law: 'order',
    name: 'nobody overtakes: a light place waits behind a heavy one, and a try does not slip past it',
    async run(rig) {
      const driver = await rig.driver()
      if (!driver.traits.counting) return
      const line = rig.name()
      const [light, heavy, late] = [1, 2, 1].map((weight) => entry(line, { weight, capacity: 2 })) as [
        Entry,
        Entry,
        Entry,
      ]
      assert.ok(isGranted(light, await stand(driver, light)))
      assert.ok(!isGranted(heavy, await stand(driver, heavy)))
      assert.equal(await driver.enter(entry(line, { capacity: 2 }), false), null)
      assert.ok(!isGranted(late, await stand(driver, late)))
      await driver.leave(light)
      await granted(driver, heavy)
      assert.ok(!isGranted(late, (await look(driver, late)) as Place), 'the heavy one fills the line')
    },
  },
  {
    law: 'enter',
    name: 'to enter again with the same id is to ask again: one place, the same token',
    async run(rig) {
      const driver = await rig.driver()
      const line = rig.name()
      const at = entry(line)
      const first = await stand(driver, at)
      const again = await stand(driver, at)
      assert.equal(again.token, first.token)
      assert.ok(isGranted(at, again))
      assert.equal(await crowd(driver, line), 1)
    },
  },
  {
    law: 'enter',
    name: 'a try that finds no room leaves no trace',
    async run(rig) {
      const driver = await rig.driver()
      const line = rig.name()
      const [holder, tried] = [entry(line), entry(line)]
      assert.ok(await driver.enter(holder, false))
      assert.equal(await driver.enter(tried, false), null)
      assert.equal(await crowd(driver, line), 1)
      await driver.leave(holder)
      assert.equal(await crowd(driver, line), 0)
    },
  },
  {
    law: 'touch',
    name: 'a place that has lapsed is gone for good, and touch says so place by place',
    async run(rig) {
      const driver = await rig.driver()
      const line = rig.name()
      const ttlMs = shortTtlMs(driver.traits)
      const [dead, alive] = [entry(line, { ttlMs }), entry(rig.name())]
      await stand(driver, dead)
      await stand(driver, alive)
      await until('the unrenewed place lapses', async () => (await crowd(driver, line)) === 0)
      const [first, second] = await driver.touch([dead, alive])
      assert.equal(first, null, 'touch must never revive')
      assert.ok(second)
      assert.equal(await crowd(driver, line), 0)
    },
  },
  {
    law: 'touch',
    name: 'one call renews many, and answers in the order asked',
    async run(rig) {
      const driver = await rig.driver()
      const entries = Array.from({ length: 120 }, () => entry(rig.name()))
      const tokens = []
      for (const at of entries) tokens.push((await stand(driver, at)).token)
      const places = await driver.touch(entries)
      assert.deepEqual(
        places.map((place) => place?.token),
        tokens,
      )
    },
  },
  {
    law: 'leave',
    name: 'leaving twice, or with an id nobody knows, changes nothing for others',
    async run(rig) {
      const driver = await rig.driver()
      const line = rig.name()
      const [first, second] = [entry(line), entry(line)]
      await stand(driver, first)
      await stand(driver, second)
      await driver.leave(first)
      await driver.leave(first)
      await driver.leave(entry(line))
      await granted(driver, second)
      assert.equal(await crowd(driver, line), 1)
    },
  },
  {
    law: 'owner',
    name: 'a lapsed holder that leaves late does not free its successor',
    async run(rig) {
      const driver = await rig.driver()
      const line = rig.name()
      const old = entry(line, { ttlMs: shortTtlMs(driver.traits) })
      const [next, third] = [entry(line), entry(line)]
      await stand(driver, old)
      await stand(driver, next)
      await granted(driver, next)
      await driver.leave(old)
      assert.ok(!isGranted(third, await stand(driver, third)), 'the successor still holds')
    },
  },
  {
    law: 'life',
    name: "a dead waiter's place lapses too, and does not block those behind it",
    async run(rig) {
      const driver = await rig.driver()
      const line = rig.name()
      const [holder, last] = [entry(line), entry(line)]
      const dead = entry(line, { ttlMs: shortTtlMs(driver.traits) })
      await stand(driver, holder)
      await stand(driver, dead)
      await stand(driver, last)
      await until('the dead waiter lapses', async () => (await crowd(driver, line)) === 2)
      await driver.leave(holder)
      await granted(driver, last)
    },
  },
  {
    law: 'grant',
    name: 'once granted stays granted, whoever comes',
    async run(rig) {
      const driver = await rig.driver()
      const line = rig.name()
      const holder = entry(line, { capacity: 1_000_000, weight: 1 })
      await stand(driver, holder)
      for (const weight of [1, 1_000_000, 1]) {
        await stand(driver, entry(line, { capacity: 1_000_000, weight }))
        assert.ok(isGranted(holder, (await look(driver, holder)) as Place))
      }
      assert.equal((await look(driver, holder))?.wanted, true, 'somebody stands behind')
    },
  },
  {
    law: 'capacity',
    name: 'another capacity is refused while the line is in use, and leaves no trace',
    async run(rig) {
      const driver = await rig.driver()
      if (!driver.traits.counting) return
      const line = rig.name()
      const holder = entry(line, { capacity: 3 })
      await stand(driver, holder)
      for (const wait of [true, false]) {
        await assert.rejects(driver.enter(entry(line, { capacity: 5 }), wait), CapacityMismatchError)
      }
      assert.equal(await crowd(driver, line), 1)
      await driver.leave(holder)
      await stand(driver, entry(line, { capacity: 5 }))
    },
  },
  {
    law: 'watch',
    name: 'the next in line is woken when the holder leaves',
    async run(rig) {
      const [a, b] = [await rig.driver(), await rig.driver()]
      if (a.traits.push === 'none') return
      const line = rig.name()
      const [holder, waiter] = [entry(line), entry(line)]
      let wake = (): void => {}
      const woken = new Promise<void>((resolve) => {
        wake = resolve
      })
      const stop = await b.watch(line, waiter.id, () => wake())
      rig.onClose(async () => stop())
      await stand(a, holder)
      await stand(b, waiter)
      await a.leave(holder)
      await within('the waiter is woken', woken, LONG_TTL_MS)
      await granted(b, waiter)
    },
  },
  {
    law: 'watch',
    name: 'an observer of the line is woken when it changes',
    async run(rig) {
      const [a, b] = [await rig.driver(), await rig.driver()]
      if (a.traits.push === 'none') return
      const line = rig.name()
      let wake = (): void => {}
      const stop = await b.watch(line, null, () => wake())
      const change = async (what: string, act: () => Promise<unknown>): Promise<void> => {
        const woken = new Promise<void>((resolve) => {
          wake = resolve
        })
        await act()
        await within(what, woken)
      }
      const at = entry(line)
      await change('an observer sees somebody enter', () => a.enter(at, true))
      await change('an observer sees somebody leave', () => a.leave(at))
      stop()
    },
  },
]
