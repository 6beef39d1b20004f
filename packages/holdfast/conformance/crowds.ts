/** Many contenders at once: never too many inside, and nobody forgotten. */
import assert from 'node:assert/strict'
import type { Lock } from '../src/acquire/lock.ts'
import type { Holdfast } from '../src/holdfast.ts'
import type { Draft } from './case.ts'
import { crowd, pause, timesOut, until, within } from './rig.ts'

/** Counts who is inside, and notes the largest count. */
class Room {
  inside = 0
  most = 0
  visits = 0

  async visit(weight: number): Promise<void> {
    this.inside += weight
    this.most = Math.max(this.most, this.inside)
    this.visits++
    // A turn of the event loop inside: enough for anybody who should not be here to come in.
    await pause(0)
    this.inside -= weight
  }
}

async function fill(tasks: readonly (() => Promise<unknown>)[]): Promise<void> {
  await within('every contender is served', Promise.all(tasks.map((task) => task())), 110_000)
}

function mutexCrowd(name: string, contenders: number, lockOf: (hf: Holdfast, line: string) => Lock): Draft {
  return {
    law: 'exclusion',
    name: `${contenders} contenders of two clients on ${name}: one at a time, all served, nothing left`,
    timeoutMs: 120_000,
    async run(rig) {
      const line = rig.name()
      const clients = [await rig.holdfast(), await rig.holdfast()]
      const room = new Room()
      await fill(
        Array.from({ length: contenders }, (_, i) => () => {
          const hf = clients[i % clients.length] as Holdfast
          return lockOf(hf, line).using(() => room.visit(1))
        }),
      )
      assert.equal(room.most, 1)
      assert.equal(room.visits, contenders)
      assert.equal(await crowd({ list: (prefix) => (clients[0] as Holdfast).list({ prefix }) }, line), 0)
    },
  }
}

export const crowds: Draft[] = [
  mutexCrowd('a mutex', 200, (hf, line) => hf.mutex(line)),
  mutexCrowd('a strict mutex', 200, (hf, line) => hf.mutex(line, hf.traits.fair ? { fairness: 'strict' } : {})),
  {
    law: 'order',
    name: 'strict callers of one process are served in the order they asked',
    async run(rig) {
      const hf = await rig.holdfast()
      if (!hf.traits.fair) return
      const mutex = hf.mutex(rig.name(), { fairness: 'strict' })
      const served: { readonly asked: number; readonly token: bigint }[] = []
      const tasks = []
      for (let asked = 0; asked < 20; asked++) {
        tasks.push(mutex.using(({ token }) => void served.push({ asked, token })))
        // Each caller stands in line before the next asks, so that the order of asking is known.
        await within('the caller stands in line', stands(hf, mutex.name, asked + 1, served))
      }
      await Promise.all(tasks)
      const byToken = served.toSorted((a, b) => (a.token < b.token ? -1 : 1))
      assert.deepEqual(
        byToken.map(({ asked }) => asked),
        Array.from({ length: 20 }, (_, i) => i),
      )
    },
  },
  {
    law: 'watch',
    name: 'readers and writers of three clients: each is served by a wake-up, and nobody waits for a heartbeat',
    timeoutMs: 120_000,
    async run(rig) {
      const clients = [await rig.holdfast(), await rig.holdfast(), await rig.holdfast()]
      const { push, fair, counting, ttlMsMax } = await rig.traits()
      if (push === 'none' || !fair || !counting) return
      const ttlMs = Math.min(600_000, ttlMsMax ?? 600_000)
      const name = rig.name()
      const visits = async (hf: Holdfast, nth: number): Promise<void> => {
        const { read, write } = hf.rwLock(name, { ttlMs })
        for (let i = 0; i < 12; i++) await ((i + nth) % 5 === 0 ? write : read).using(() => pause(i % 3))
      }
      await fill(clients.flatMap((hf, at) => [0, 1, 2, 3].map((nth) => () => visits(hf, at + nth))))
    },
  },
  {
    law: 'exclusion',
    name: '60 contenders for 1 to 3 of 5 permits: never more than 5 inside, all served',
    timeoutMs: 120_000,
    async run(rig) {
      const line = rig.name()
      const clients = [await rig.holdfast(), await rig.holdfast()]
      if (!(clients[0] as Holdfast).traits.counting) return
      const room = new Room()
      await fill(
        Array.from({ length: 60 }, (_, i) => () => {
          const permits = 1 + (i % 3)
          return (clients[i % 2] as Holdfast).semaphore(line, 5).using(() => room.visit(permits), { permits })
        }),
      )
      assert.ok(room.most <= 5, `${room.most} permits were out at once`)
      assert.ok(room.most > 1, 'permits are shared')
      assert.equal(room.visits, 60)
    },
  },
  {
    law: 'exclusion',
    name: '80 readers and writers: a writer is alone, readers are not',
    timeoutMs: 120_000,
    async run(rig) {
      const line = rig.name()
      const clients = [await rig.holdfast(), await rig.holdfast()]
      const [readers, writers] = [new Room(), new Room()]
      let together = 0
      await fill(
        Array.from({ length: 80 }, (_, i) => () => {
          const lock = (clients[i % 2] as Holdfast).rwLock(line)
          const isWriter = i % 5 === 0
          return (isWriter ? lock.write : lock.read).using(async () => {
            if (isWriter ? readers.inside > 0 : writers.inside > 0) together++
            await (isWriter ? writers : readers).visit(1)
          })
        }),
      )
      assert.equal(together, 0)
      assert.equal(writers.most, 1)
      assert.equal(writers.visits + readers.visits, 80)
    },
  },
  {
    law: 'exclusion',
    name: '2 000 readers of one process stand on one place, and still nobody overtakes a writer',
    timeoutMs: 120_000,
    async run(rig) {
      const line = rig.name()
      const [a, b] = [await rig.holdfast(), await rig.holdfast()]
      const list = { list: (prefix: string) => a.list({ prefix }) }
      const { read } = a.rwLock(line)
      const readers = await within('all read', Promise.all(Array.from({ length: 2_000 }, () => read.acquire())))
      for (let i = 0; i < 20; i++) readers.push(await read.acquire())
      assert.equal(await crowd(list, line), 1, 'one place for all of them')
      for (const reader of readers) reader.assertHeld()
      await (await within('a lock on another name is not held up', a.mutex(rig.name()).acquire())).release()
      const writing = b.rwLock(line).write.acquire()
      await until('a writer waits', async () => (await crowd(list, line)) === 2)
      if (a.traits.fair) assert.equal(await read.tryAcquire(), null, 'a reader must not overtake a writer')
      const late = read.acquire()
      const last = readers.pop()
      assert.deepEqual(new Set(await Promise.all(readers.map((reader) => reader.release()))), new Set([true]))
      last?.assertHeld()
      assert.equal(await b.rwLock(line).write.tryAcquire(), null, 'the last reader still holds')
      assert.equal(await last?.release(), true)
      if (a.traits.fair) {
        const writer = await within('the writer is served', writing)
        await writer.release()
        await (await within('and the reader behind it', late)).release()
      } else {
        await within('both are served', Promise.all([late, writing].map(async (lock) => (await lock).release())))
      }
      await until('nothing is left', async () => (await crowd(list, line)) === 0)
    },
  },
  {
    law: 'life',
    name: 'readers that share a place are all told of its loss; one that gives up leaves the others in line',
    async run(rig) {
      const line = rig.name()
      const [a, b] = [await rig.holdfast(), await rig.holdfast()]
      const { read } = a.rwLock(line)
      const writer = await b.rwLock(line).write.acquire()
      const impatient = new AbortController()
      const waiting = [read.acquire(), read.acquire({ signal: impatient.signal }), read.acquire()]
      const gone = assert.rejects(waiting[1] as Promise<unknown>, /no more/)
      await timesOut((waitMs) => read.acquire({ waitMs }), 300)
      impatient.abort(new Error('no more'))
      await gone
      await writer.release()
      const readers = await within('the others are served', Promise.all([waiting[0], waiting[2]]))
      const lost = readers.map((reader) => new Promise((resolve) => reader?.signal.addEventListener('abort', resolve)))
      await b.break(line, { now: true })
      await within('both are told', Promise.all(lost))
      for (const reader of readers) assert.equal(await reader?.release(), false)
    },
  },
]

async function stands(hf: Holdfast, line: string, asked: number, served: readonly unknown[]): Promise<void> {
  const list = { list: (prefix: string) => hf.list({ prefix }) }
  while (served.length < asked && (await crowd(list, line)) === 0) await pause(1)
}
