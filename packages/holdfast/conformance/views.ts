/** What people see: who holds, who waits, since when, and no ids. */
import assert from 'node:assert/strict'
import type { Draft } from './case.ts'
import { lineOf, until } from './rig.ts'

export const views: Draft[] = [
  {
    law: 'list',
    name: 'holders and waiters in order, with label, host, pid, age and what is left',
    async run(rig) {
      const [a, b] = [await rig.holdfast({ label: 'first' }), await rig.holdfast({ label: 'second' })]
      const line = rig.name()
      const list = { list: (prefix: string) => b.list({ prefix }) }
      const held = await a.mutex(line).acquire()
      const waiting = b.mutex(line).acquire()
      await until('both are seen', async () => (await lineOf(list, line)).waiters.length === 1)
      const view = await lineOf(list, line)
      assert.equal(view.capacity, 1)
      assert.equal(view.holders.length, 1)
      const [holder, waiter] = [view.holders[0], view.waiters[0]]
      assert.ok(holder && waiter)
      assert.deepEqual([holder.label, waiter.label], ['first', 'second'])
      assert.ok(holder.token < waiter.token)
      for (const place of [holder, waiter]) {
        assert.equal(place.pid, process.pid)
        assert.ok(place.host.length > 0)
        assert.equal(place.weight, 1)
        assert.ok(place.ageMs >= 0 && place.leftMs > 0, `age ${place.ageMs}, left ${place.leftMs}`)
        assert.deepEqual(Object.keys(place).toSorted(), ['ageMs', 'host', 'label', 'leftMs', 'pid', 'token', 'weight'])
      }
      await held.release()
      await (await waiting).release()
      const after = await lineOf(list, line)
      assert.equal(after.holders.length + after.waiters.length, 0)
    },
  },
  {
    law: 'list',
    name: 'permits and readers that hold together are all holders',
    async run(rig) {
      const hf = await rig.holdfast()
      const line = rig.name()
      const list = { list: (prefix: string) => hf.list({ prefix }) }
      const { read, write } = hf.rwLock(line)
      // Readers of one process share a place, unless in strict order, which not every store can do. So another process
      // reads, too.
      const other = await rig.holdfast()
      const readers = [await read.acquire(), await other.rwLock(line).read.acquire()]
      const writing = write.acquire()
      await until('the writer waits', async () => (await lineOf(list, line)).waiters.length === 1)
      const view = await lineOf(list, line)
      assert.deepEqual(
        view.holders.map((place) => place.weight),
        [1, 1],
      )
      for (const reader of readers) await reader.release()
      await (await writing).release()
      if (!hf.traits.counting) return
      const permits = rig.name()
      const held = await hf.semaphore(permits, 5).acquire({ permits: 3 })
      const seen = await lineOf(list, permits)
      assert.deepEqual([seen.capacity, seen.holders[0]?.weight], [5, 3])
      await held.release()
    },
  },
]
