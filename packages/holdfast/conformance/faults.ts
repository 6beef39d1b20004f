/**
 * Every reply may be lost. Each call fails in turn, before and after it took effect, until a run goes through unhurt.
 */
import assert from 'node:assert/strict'
import { StoreUnreachableError, UnsupportedError } from '../src/contract/errors.ts'
import type { Driver, Entry, Place } from '../src/contract/driver.ts'
import type { Holdfast } from '../src/holdfast.ts'
import type { Draft } from './case.ts'
import { type Around, FaultyDriver, lost } from './faulty.ts'
import { crowd, PATIENCE_MS, type Rig, shortTtlMs, until, within } from './rig.ts'

interface Scene {
  readonly what: string
  play(hf: Holdfast, other: Holdfast, line: string): Promise<void>
}

function unsupported(error: unknown): null {
  if (error instanceof UnsupportedError) return null
  throw error
}

const SCENES: Scene[] = [
  {
    what: 'acquire and release',
    async play(hf, _other, line) {
      const held = await hf.mutex(line).acquire()
      assert.equal(held.state, 'held')
      assert.equal(await held.release(), true)
    },
  },
  {
    what: 'a try that finds room',
    async play(hf, _other, line) {
      const held = await hf.mutex(line).tryAcquire()
      assert.ok(held, 'a lost reply must not read as "held by others"')
      await held.release()
    },
  },
  {
    what: 'a try that finds none',
    async play(hf, other, line) {
      const held = await other.mutex(line).acquire()
      assert.equal(await hf.mutex(line).tryAcquire(), null)
      await held.release()
    },
  },
  {
    what: 'a contended acquisition',
    async play(hf, other, line) {
      const held = await other.mutex(line).acquire()
      const waiting = hf.mutex(line).acquire()
      const list = { list: (prefix: string) => other.list({ prefix }) }
      await until('the waiter stands in line', async () => (await crowd(list, line)) === 2)
      await held.release()
      await (await within('the waiter is served', waiting)).release()
    },
  },
  {
    what: 'several locks at once',
    async play(hf, other, line) {
      const names = [line, `${line}/2`]
      const held = await hf.all(names.map((name) => hf.mutex(name))).acquire()
      held.assertHeld()
      for (const name of names) assert.equal(await other.mutex(name).tryAcquire(), null)
      await held.release()
    },
  },
  {
    what: 'two readers, one after the other, and a writer behind them',
    async play(hf, other, line) {
      const { read } = hf.rwLock(line)
      const [first, second] = [await read.acquire(), await read.acquire()]
      const writing = other.rwLock(line).write.acquire()
      assert.equal(await first.release(), true)
      second.assertHeld()
      assert.equal(await second.release(), true)
      await (await within('the writer is served', writing)).release()
    },
  },
  {
    what: 'an upgrade',
    async play(hf, other, line) {
      if (!hf.traits.fair || !hf.traits.counting) return
      const held = await hf.rwLock(line).upgrade.acquire()
      const write = await held.upgrade()
      assert.equal(await other.rwLock(line).read.tryAcquire(), null)
      assert.equal(await write.release(), true)
      await (await within('readers are let in', other.rwLock(line).read.acquire())).release()
      assert.equal(await held.release(), true)
    },
  },
  {
    what: 'handing a hold on',
    async play(hf, other, line) {
      const mine = await hf.mutex(line).acquire()
      const text = await mine.export().catch(unsupported)
      if (text === null) {
        await mine.release()
        return
      }
      const theirs = await other.adopt(text)
      assert.ok(theirs.token > mine.token)
      const back = await hf.adopt(await theirs.export())
      assert.ok(back.token > theirs.token)
      assert.equal(await back.release(), true)
    },
  },
  {
    what: 'counting a latch down',
    async play(hf, other, line) {
      const latch = hf.latch(line, 3)
      await latch.countDown()
      await latch.countDown()
      assert.equal(await other.latch(line, 3).count(), 1, 'a lost reply neither loses nor doubles a count')
      await latch.reset()
    },
  },
  {
    what: 'an update of a cell',
    async play(hf, other, line) {
      const cell = hf.cell<number>(line)
      await cell.update((n) => (n ?? 0) + 1)
      await cell.update((n) => (n ?? 0) + 1)
      assert.equal((await other.cell<number>(line).read()).value, 2, 'a lost reply neither loses nor doubles a write')
    },
  },
]

/** False: the run had no call of that number. */
async function play(rig: Rig, scene: Scene, failing: number, when: 'before' | 'after'): Promise<boolean> {
  const line = rig.name('fault')
  let hit = false
  const fail = (call: number): void => {
    if (call !== failing) return
    hit = true
    throw lost(call)
  }
  const around: Around = when === 'before' ? { before: fail } : { after: fail }
  const other = await rig.holdfast()
  const hf = await rig.holdfast({}, (driver) => new FaultyDriver(driver, around))
  await within(
    `${scene.what}, with call ${failing} failing ${when} its effect`,
    scene.play(hf, other, line),
    PATIENCE_MS * 2,
  )
  const list = { list: (prefix: string) => other.list({ prefix }) }
  await until('nothing is left in the line', async () => (await crowd(list, line)) === 0)
  await hf.close()
  await other.close()
  return hit
}

/** Whether this store can't do what the scene is about. */
async function isRefused(rig: Rig, scene: Scene): Promise<boolean> {
  const { fair, counting } = await rig.traits()
  return scene.what === 'an upgrade' && !(fair && counting)
}

function rejected(outcome: PromiseSettledResult<unknown>): unknown {
  return outcome.status === 'rejected' ? outcome.reason : null
}

/** A driver whose first enter gets no answer, and is carried out only when the test says so. */
function withLateEnter(driver: Driver): { readonly driver: Driver; readonly arrive: () => Promise<unknown> } {
  let late: Entry | null = null
  const enter = (entry: Entry, wait: boolean): Promise<Place | null> => {
    if (late !== null) return driver.enter(entry, wait)
    late = entry
    return Promise.reject(lost(1))
  }
  const get = (target: Driver, key: keyof Driver): unknown => {
    if (key === 'enter') return enter
    const member: unknown = target[key]
    return typeof member === 'function' ? (member.bind(target) as unknown) : member
  }
  return {
    driver: new Proxy(driver, { get: (target, key) => get(target, key as keyof Driver) }),
    arrive: async () => (late === null ? null : driver.enter(late, true)),
  }
}

export const faults: Draft[] = [
  {
    law: 'leave',
    name: 'an enter that was lost, and arrives after its place was given up, makes no ghost',
    async run(rig) {
      let arrive = async (): Promise<unknown> => null
      const line = rig.name()
      const [other, hf] = [
        await rig.holdfast(),
        await rig.holdfast({}, (driver) => {
          const late = withLateEnter(driver)
          arrive = late.arrive
          return late.driver
        }),
      ]
      const list = { list: (prefix: string) => other.list({ prefix }) }
      const held = await other.mutex(line).acquire()
      const controller = new AbortController()
      // A ghost would outlast the patience of this case.
      const waiting = hf.mutex(line, { ttlMs: 4 * PATIENCE_MS }).acquire({ signal: controller.signal })
      const gone = assert.rejects(waiting, /no more/)
      await until('the second request stands in line', async () => (await crowd(list, line)) === 2)
      controller.abort(new Error('no more'))
      await gone
      await until('it has been given up', async () => (await crowd(list, line)) === 1)
      // By then all background requests have been sent.
      await hf.mutex(rig.name()).using(() => {})
      await arrive()
      await until('the late request stands nowhere', async () => (await crowd(list, line)) === 1)
      await held.release()
      await (await within('the line is free', other.mutex(line).acquire())).release()
    },
  },
  ...SCENES.map(
    (scene): Draft => ({
      law: 'settle',
      name: `${scene.what} goes through whichever call fails, and leaves nothing behind`,
      timeoutMs: 180_000,
      async run(rig) {
        for (const when of ['before', 'after'] as const) {
          let failing = 1
          while (failing <= 12 && (await play(rig, scene, failing, when))) failing++
          assert.ok(failing > 1 || (await isRefused(rig, scene)), 'no call was seen to fail')
        }
      },
    }),
  ),
  {
    law: 'settle',
    name: 'a silent store is an outage, not contention, and is told by the deadline',
    async run(rig) {
      const before = (call: number, method: string): void => {
        if (method !== 'watch') throw lost(call)
      }
      const hf = await rig.holdfast({ connectTimeoutMs: 200 }, (driver) => new FaultyDriver(driver, { before }))
      const mutex = hf.mutex(rig.name())
      await assert.rejects(mutex.acquire({ waitMs: 100 }), StoreUnreachableError)
      await assert.rejects(mutex.tryAcquire(), StoreUnreachableError)
      // The second caller asks nothing itself: it must not take the first caller's silence for a holder.
      for (const lock of [mutex, hf.rwLock(rig.name()).read]) {
        const tries = await Promise.allSettled([lock.tryAcquire(), lock.tryAcquire(), lock.acquire({ waitMs: 400 })])
        for (const outcome of tries)
          assert.ok(rejected(outcome) instanceof StoreUnreachableError, `${lock.name}: ${outcome.status}`)
      }
      const brief = hf.mutex(rig.name(), { ttlMs: shortTtlMs(hf.traits) })
      await assert.rejects(within('acquire gives up', brief.acquire()), StoreUnreachableError)
    },
  },
]
