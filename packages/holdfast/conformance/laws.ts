/**
 * The laws of the contract itself, on the driver's own methods: order, enter, touch, leave, owner, life, grant,
 * capacity, watch.
 */
import assert from 'node:assert/strict'
import { CapacityMismatchError, StoreUnreachableError } from '../src/contract/errors.ts'
import { isGranted, type Driver, type Entry, type Place } from '../src/contract/driver.ts'
import type { Draft } from './case.ts'
import { crowd, entry, LONG_TTL_MS, PATIENCE_MS, pause, shortTtlMs, until, within } from './rig.ts'

/** Enters and waits in line; null would mean that the id is dead. */
export async function stand(driver: Driver, at: Entry): Promise<Place> {
  const place = await driver.enter(at, true)
  assert.ok(place, 'enter with wait answered null for a fresh id')
  return place
}

/** Asks again, as a lock would, while the store does not answer in the little time that a short lease leaves. */
export async function answered<T>(ask: () => Promise<T>): Promise<T> {
  const end = performance.now() + PATIENCE_MS
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof StoreUnreachableError) || performance.now() > end) throw error
    }
  }
}

/** Enters with a short lease that nobody renews. On a busy machine the shortest lease may be over before the grant. */
export async function standBriefly(
  driver: Driver,
  line: string,
): Promise<{ readonly at: Entry; readonly place: Place }> {
  for (let ttlMs = shortTtlMs(driver.traits); ; ttlMs *= 2) {
    const at = entry(line, { ttlMs })
    const place = await answered(() => driver.enter(at, true))
    if (place !== null) return { at, place }
    assert.ok(ttlMs < LONG_TTL_MS, 'enter with wait answered null for a fresh id')
  }
}

/** Where the place stands now. */
async function look(driver: Driver, at: Entry): Promise<Place | null> {
  const [place] = await driver.touch([at])
  assert.notEqual(place, undefined, 'touch answered fewer places than it was asked for')
  return place ?? null
}

/** Waits until the place is granted by asking, which is what wakes its holder in the end. */
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
      // On Redlock the order is that of the clients' own estimates of the time: a slow first answer makes a poor one.
      await pause(250)
      const second = await stand(b, at[1] as Entry)
      await pause(250)
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
    law: 'enter',
    name: 'tries that come at once: not more than fit are granted, and those that are refused leave no trace',
    async run(rig) {
      const drivers = [await rig.driver(), await rig.driver()]
      const [a] = drivers as [Driver]
      const capacity = a.traits.counting ? 2 : 1
      for (let round = 0; round < 5; round++) {
        const line = rig.name()
        const tries = Array.from({ length: 6 }, () => entry(line, { capacity }))
        const places = await Promise.all(tries.map((one, i) => (drivers[i % 2] as Driver).enter(one, false)))
        const had = tries.filter((one, i) => isGranted(one, places[i] ?? { ahead: capacity }))
        assert.ok(had.length <= capacity, `${had.length} of ${capacity} are granted`)
        assert.equal(places.filter((place) => place !== null).length, had.length, 'a try is granted or refused')
        await until('who was refused has gone', async () => (await crowd(a, line)) === had.length)
        for (const one of had) await (drivers[tries.indexOf(one) % 2] as Driver).leave(one)
        await until('nobody is left', async () => (await crowd(a, line)) === 0)
      }
    },
  },
  {
    law: 'touch',
    name: 'a place that has lapsed is gone for good, and touch says so place by place',
    async run(rig) {
      const driver = await rig.driver()
      const line = rig.name()
      const alive = entry(rig.name())
      const { at: dead } = await standBriefly(driver, line)
      await stand(driver, alive)
      await until('the unrenewed place lapses', async () => (await crowd(driver, line)) === 0)
      const [first, second] = await answered(() => driver.touch([dead, alive]))
      assert.equal(first, null, 'touch must never revive')
      assert.ok(second)
      // Nobody has looked at the place since it lapsed: the late touch itself must see that.
      const { at: late } = await standBriefly(driver, rig.name())
      await pause(3 * late.ttlMs + 500)
      assert.deepEqual(await answered(() => driver.touch([late])), [null], 'nor where it is the first to look')
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
    law: 'leave',
    name: 'an id that has left before it enters never stands in line: its enter was given up, and comes late',
    async run(rig) {
      const [a, b] = [await rig.driver(), await rig.driver()]
      // On an empty line and in a crowd, with waiting and with trying: stores have ways of their own for each.
      for (const isCrowded of [false, true]) {
        const line = rig.name()
        const holder = entry(line)
        if (isCrowded) {
          await stand(b, holder)
          if (b.traits.fair) await stand(b, entry(line))
        }
        const before = await crowd(a, line)
        for (const wait of [true, false]) {
          const late = entry(line)
          await a.leave(late)
          assert.equal(await a.enter(late, wait), null, `entered ${wait ? 'to wait' : 'as a try'} after it had left`)
        }
        assert.equal(await crowd(a, line), before, 'nothing stands there for it')
        if (isCrowded) await b.leave(holder)
        else await stand(b, entry(line))
      }
    },
  },
  {
    law: 'owner',
    name: 'a lapsed holder that leaves late does not free its successor',
    async run(rig) {
      const driver = await rig.driver()
      const line = rig.name()
      const [next, third] = [entry(line), entry(line)]
      const { at: old } = await standBriefly(driver, line)
      await stand(driver, next)
      await granted(driver, next)
      await answered(() => driver.leave(old))
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
      await stand(driver, holder)
      await standBriefly(driver, line)
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
    name: 'who waits for room is woken by any that makes it, not only by the nearest in front',
    async run(rig) {
      const [a, b] = [await rig.driver(), await rig.driver()]
      const { push, counting, fair } = a.traits
      if (push === 'none' || !counting || !fair) return
      const line = rig.name()
      const crowded = (): Entry => entry(line, { capacity: 3 })
      const [far, middle, near, waiter] = [crowded(), crowded(), crowded(), crowded()]
      let wake = (): void => {}
      let woken: Promise<void> = Promise.resolve()
      const listen = (): void => {
        woken = new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      const stop = await b.watch(line, waiter.id, () => wake())
      rig.onClose(async () => stop())
      for (const holder of [far, middle, near]) await stand(a, holder)
      await stand(b, waiter)
      // Late wake-ups about places that came before would wake it, and a look after that would see the grant by chance.
      await pause(1_000)
      listen()
      await a.leave(far)
      // Wake-ups may be false: only those count after which a look sees the grant, and this looks at no other time.
      for (;;) {
        await within('the waiter is woken', woken, LONG_TTL_MS)
        listen()
        const place = await look(b, waiter)
        assert.ok(place, 'a live place lapsed while it was renewed')
        if (isGranted(waiter, place)) return
      }
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
