/** A read lock that becomes a write lock without letting go. */
import assert from 'node:assert/strict'
import { AcquireTimeoutError, LockLostError, UnsupportedError, UsageError } from '../src/core/errors.ts'
import type { Holdfast } from '../src/holdfast.ts'
import type { Draft } from './case.ts'
import { crowd, lineOf, type Rig, until, within } from './rig.ts'

/** Cases for stores that keep an order and can weigh places. */
function upgradeable(name: string, run: (rig: Rig) => Promise<void>): Draft {
  return {
    law: 'upgrade',
    name,
    async run(rig) {
      const { counting, fair } = await rig.traits()
      if (counting && fair) await run(rig)
    },
  }
}

function lines(hf: Holdfast): { list: (prefix: string) => ReturnType<Holdfast['list']> } {
  return { list: (prefix) => hf.list({ prefix }) }
}

export const upgrades: Draft[] = [
  {
    law: 'upgrade',
    name: 'where places have no order it is refused',
    async run(rig) {
      const hf = await rig.holdfast()
      if (!hf.traits.fair) await assert.rejects(hf.rwLock(rig.name()).upgrade.acquire(), UnsupportedError)
    },
  },
  upgradeable('it reads beside readers, and writes once they have gone; then readers are served again', async (rig) => {
    const [a, b] = [await rig.holdfast(), await rig.holdfast()]
    const line = rig.name()
    const [mine, theirs] = [a.rwLock(line), b.rwLock(line)]
    const early = await theirs.read.acquire()
    const held = await within('it reads beside a reader', mine.upgrade.acquire())
    const beside = await theirs.read.tryAcquire()
    assert.ok(beside, 'and readers come in beside it')
    assert.equal(await theirs.write.tryAcquire(), null)
    assert.equal(await theirs.upgrade.tryAcquire(), null, 'of its kind there is one')
    await assert.rejects(held.upgrade({ waitMs: 300 }), AcquireTimeoutError)
    held.assertHeld()
    await until('nothing is left of the try', async () => (await crowd(lines(a), line)) === 3)
    const upgrading = held.upgrade()
    await until('it stands in line', async () => (await crowd(lines(a), line)) === 4)
    await assert.rejects(held.upgrade(), UsageError)
    assert.equal(await theirs.read.tryAcquire(), null, 'new readers wait behind it')
    await early.release()
    await beside.release()
    const write = await within('the readers have gone', upgrading)
    write.assertHeld()
    assert.ok(write.token > held.token)
    assert.equal(await theirs.read.tryAcquire(), null)
    const late = theirs.read.acquire()
    assert.equal(await write.release(), true)
    await (await within('it reads again, and others with it', late)).release()
    held.assertHeld()
    assert.equal(await held.release(), true)
    await until('nothing is left', async () => (await crowd(lines(a), line)) === 0)
  }),
  upgradeable('a writer that waits between is overtaken, not waited for, and has the higher token', async (rig) => {
    const [a, b] = [await rig.holdfast(), await rig.holdfast()]
    const line = rig.name()
    const held = await a.rwLock(line).upgrade.acquire()
    const reader = await b.rwLock(line).read.acquire()
    const waiting = b.rwLock(line).write.acquire()
    await until('a writer stands in line', async () => (await crowd(lines(a), line)) === 3)
    const upgrading = held.upgrade()
    await until('and the upgrade behind it', async () => (await crowd(lines(a), line)) === 4)
    await reader.release()
    const write = await within('it writes though a writer waits', upgrading)
    write.assertHeld()
    assert.equal((await lineOf(lines(a), line)).holders[0]?.weight, 500_001, 'the writer still waits')
    await write.release()
    await held.release()
    const next = await within('the writer is served', waiting)
    assert.ok(next.token > write.token)
    await next.release()
  }),
  upgradeable('two that upgrade never wait for each other', async (rig) => {
    const clients = [await rig.holdfast(), await rig.holdfast()]
    const line = rig.name()
    let inside = 0
    const tokens: bigint[] = []
    const work = async (hf: Holdfast): Promise<void> => {
      for (let i = 0; i < 4; i++) {
        await hf.rwLock(line).upgrade.using(async (held) => {
          const write = await held.upgrade()
          assert.equal(++inside, 1)
          tokens.push(write.token)
          await Promise.resolve()
          inside--
          // Let go by the end of the work.
        })
      }
    }
    await within('all have written', Promise.all(clients.flatMap((hf) => [work(hf), work(hf)])), 60_000)
    assert.deepEqual(
      tokens,
      tokens.toSorted((x, y) => (x < y ? -1 : 1)),
    )
    assert.equal(new Set(tokens).size, 16)
  }),
  upgradeable('when the read lock under it goes, the write lock is lost', async (rig) => {
    const [a, b] = [await rig.holdfast(), await rig.holdfast()]
    const line = rig.name()
    const held = await a.rwLock(line).upgrade.acquire()
    const write = await held.upgrade()
    const lost = new Promise<void>((resolve) => write.signal.addEventListener('abort', () => resolve()))
    await b.break(line, { now: true })
    await within('the loss is told', lost)
    assert.throws(() => write.assertHeld(), LockLostError)
    assert.equal(await write.release(), false)
    await held.release()
  }),
]
