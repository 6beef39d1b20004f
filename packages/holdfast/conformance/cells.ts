/** Cells: compare-and-set with versions that never return. */
import assert from 'node:assert/strict'
import { UsageError } from '../src/contract/errors.ts'
import type { Draft } from './case.ts'
import { timesOut, until, within } from './rig.ts'

export const cells: Draft[] = [
  {
    law: 'swap',
    name: 'read, write, conflict and removal; versions rise also across a removal',
    async run(rig) {
      const [a, b] = [await rig.holdfast(), await rig.holdfast()]
      const key = rig.name('cell')
      const [mine, theirs] = [a.cell<{ n: number }>(key), b.cell<{ n: number }>(key)]
      assert.deepEqual(await mine.read(), { value: undefined, version: 0n })
      const first = await mine.write({ n: 1 }, 0n)
      assert.ok(first !== null && first > 0n)
      assert.equal(await theirs.write({ n: 9 }, 0n), null, 'it is not absent any more')
      assert.deepEqual(await theirs.read(), { value: { n: 1 }, version: first })
      const second = await theirs.write({ n: 2 }, first)
      assert.ok(second !== null && second > first)
      assert.equal(await mine.write({ n: 3 }, first), null, 'that version is over')
      assert.equal(await mine.remove(first), false)
      assert.equal(await mine.remove(second), true)
      assert.deepEqual(await theirs.read(), { value: undefined, version: 0n })
      const third = await mine.write({ n: 4 }, 0n)
      assert.ok(third !== null && third > second, 'a removed cell does not start again')
    },
  },
  {
    law: 'swap',
    name: 'a repeated change finds its own nonce, and is not applied twice',
    async run(rig) {
      const driver = await rig.driver()
      const key = rig.name('cell')
      const change = { version: 0n, next: '1', ttlMs: 0, nonce: 'a'.repeat(32) }
      const once = await driver.swap(key, change)
      const twice = await driver.swap(key, change)
      assert.deepEqual(twice, once)
      assert.equal(once.nonce, change.nonce)
      const over = await driver.swap(key, { ...change, version: once.version, next: '2', nonce: 'b'.repeat(32) })
      assert.ok(over.version > once.version)
      const late = await driver.swap(key, change)
      assert.deepEqual(late, over, 'a late repetition changes nothing')
    },
  },
  {
    law: 'swap',
    name: 'a cell with a ttl is gone after it, by the store clock',
    async run(rig) {
      const driver = await rig.driver()
      const key = rig.name('cell')
      const { version } = await driver.swap(key, { version: 0n, next: '1', ttlMs: 150, nonce: 'c'.repeat(32) })
      await until('the cell is gone', async () => (await driver.swap(key, null)).version === 0n)
      const again = await driver.swap(key, { version: 0n, next: '2', ttlMs: 0, nonce: 'd'.repeat(32) })
      assert.ok(again.version > version)
    },
  },
  {
    law: 'swap',
    name: 'what was read of a cell that is gone changes nothing of the one that came after it',
    async run(rig) {
      const driver = await rig.driver()
      for (const isRemoved of [true, false]) {
        const key = rig.name('cell')
        const nonce = (digit: string): string => digit.repeat(32)
        const first = await driver.swap(key, { version: 0n, next: '1', ttlMs: isRemoved ? 0 : 150, nonce: nonce('1') })
        if (isRemoved) {
          await driver.swap(key, { version: first.version, next: null, ttlMs: 0, nonce: nonce('2') })
        } else {
          await until('the cell is gone', async () => (await driver.swap(key, null)).version === 0n)
        }
        const late = { version: first.version, next: '9', ttlMs: 0, nonce: nonce('9') }
        assert.equal((await driver.swap(key, late)).value, null, 'nothing is there to be changed')
        const second = await driver.swap(key, { version: 0n, next: '2', ttlMs: 0, nonce: nonce('3') })
        assert.ok(second.version > first.version, 'a version never comes again')
        assert.deepEqual(await driver.swap(key, { ...late, nonce: nonce('8') }), second)
        assert.deepEqual(await driver.swap(key, { ...late, next: null, nonce: nonce('7') }), second)
      }
    },
  },
  {
    law: 'swap',
    name: 'concurrent updates of two clients lose none',
    async run(rig) {
      const key = rig.name('cell')
      const clients = [await rig.holdfast(), await rig.holdfast()]
      const tasks = Array.from({ length: 24 }, (_, i) =>
        (clients[i % 2] as (typeof clients)[0]).cell<number>(key).update((n) => (n ?? 0) + 1, { waitMs: 30_000 }),
      )
      const versions = (await within('all updates end', Promise.all(tasks))).map(({ version }) => version)
      assert.equal(new Set(versions).size, 24)
      assert.equal((await (clients[0] as (typeof clients)[0]).cell<number>(key).read()).value, 24)
    },
  },
  {
    law: 'swap',
    name: 'update gives up at its deadline, and bad values are refused',
    async run(rig) {
      const hf = await rig.holdfast()
      const cell = hf.cell<unknown>(rig.name('cell'))
      // Somebody else writes inside every try, so no try can succeed.
      const losing = async (value: unknown): Promise<unknown> => {
        const { version } = await cell.read()
        await cell.write(Math.random(), version)
        return value ?? 0
      }
      await timesOut((waitMs) => cell.update(losing, { waitMs }))
      await assert.rejects(cell.write(undefined, 0n), UsageError)
      await assert.rejects(cell.write('x'.repeat(70_000), 0n), UsageError)
      await assert.rejects(cell.write(1, 0 as unknown as bigint), UsageError)
      await assert.rejects(
        cell.update(() => 1, { waitMs: -1 }),
        UsageError,
      )
    },
  },
]
