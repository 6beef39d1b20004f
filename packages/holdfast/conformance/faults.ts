/** Every reply may be lost. Each call fails in turn, before and after it took effect, until a run goes through unhurt. */
import assert from 'node:assert/strict'
import { StoreUnreachableError, UnsupportedError } from '../src/core/errors.ts'
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

export const faults: Draft[] = [
  ...SCENES.map(
    (scene): Draft => ({
      law: 'settle',
      name: `${scene.what} goes through whichever call fails, and leaves nothing behind`,
      timeoutMs: 180_000,
      async run(rig) {
        for (const when of ['before', 'after'] as const) {
          let failing = 1
          while (failing <= 12 && (await play(rig, scene, failing, when))) failing++
          assert.ok(failing > 1, 'no call was seen to fail')
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
      const brief = hf.mutex(rig.name(), { ttlMs: shortTtlMs(hf.traits) })
      await assert.rejects(within('acquire gives up', brief.acquire()), StoreUnreachableError)
    },
  },
]
