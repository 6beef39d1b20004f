/** A read lock that becomes a write lock without a release. */
import assert from 'node:assert/strict'
import { HoldfastError, LockLostError, UnsupportedError, UsageError } from '../src/contract/errors.ts'
import { isGranted } from '../src/contract/driver.ts'
import type { Holdfast } from '../src/holdfast.ts'
import type { Draft } from './case.ts'
import { FaultyDriver, lost } from './faulty.ts'
import { crowd, entry, lineOf, LONG_TTL_MS, outlasting, pause, type Rig, timesOut, until, within } from './rig.ts'

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
    const [mine, theirs] = [a.rwLock(line), b.rwLock(line, { fairness: 'strict' })]
    const early = await theirs.read.acquire()
    const held = await within('it reads beside a reader', mine.upgrade.acquire())
    const beside = await theirs.read.tryAcquire()
    assert.ok(beside, 'and readers come in beside it')
    assert.equal(await theirs.write.tryAcquire(), null)
    assert.equal(await theirs.upgrade.tryAcquire(), null, 'of its kind there is one')
    await timesOut((waitMs) => held.upgrade({ waitMs }), 300)
    held.assertHeld()
    await (await within('nothing is left of the try', theirs.read.acquire())).release()
    const upgrading = held.upgrade()
    await assert.rejects(held.upgrade(), UsageError)
    await until('new readers wait behind it', async () => {
      const reader = await theirs.read.tryAcquire()
      await reader?.release()
      return reader === null
    })
    assert.equal(await crowd(lines(a), line), 3, 'it has one place')
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
  upgradeable(
    'a writer that waits behind it, and a reader behind that, wait for it; all are served in order',
    async (rig) => {
      const [a, b, c] = [await rig.holdfast(), await rig.holdfast(), await rig.holdfast()]
      const line = rig.name()
      const held = await a.rwLock(line).upgrade.acquire()
      const reader = await b.rwLock(line).read.acquire()
      const writing = b.rwLock(line).write.acquire()
      await until('a writer stands in line', async () => (await crowd(lines(a), line)) === 3)
      const reading = c.rwLock(line).read.acquire()
      await until('and a reader behind it', async () => (await crowd(lines(a), line)) === 4)
      const upgrading = held.upgrade()
      await reader.release()
      const write = await within('it writes though others wait', upgrading)
      write.assertHeld()
      const seen = await lineOf(lines(a), line)
      assert.deepEqual(
        [seen.holders.map(({ weight }) => weight), seen.waiters.map(({ weight }) => weight)],
        [[1_000_000], [1_000_000, 1]],
      )
      assert.equal(await write.release(), true)
      held.assertHeld()
      assert.equal(await held.release(), true)
      const writer = await within('the writer is served', writing)
      assert.ok(writer.token > write.token)
      await writer.release()
      await (await within('and the reader behind it', reading)).release()
      await until('nothing is left', async () => (await crowd(lines(a), line)) === 0)
    },
  ),
  upgradeable(
    'when the writer behind it gives up, the reader behind that is not let in while it writes',
    async (rig) => {
      const [a, b, c] = [await rig.holdfast(), await rig.holdfast(), await rig.holdfast()]
      const line = rig.name()
      const held = await a.rwLock(line).upgrade.acquire()
      const impatient = new AbortController()
      const writing = b.rwLock(line).write.acquire({ signal: impatient.signal })
      const gone = assert.rejects(writing, /no more/)
      await until('a writer stands in line', async () => (await crowd(lines(a), line)) === 2)
      let served = false
      const reading = c
        .rwLock(line)
        .read.acquire()
        .finally(() => (served = true))
      await until('and a reader behind it', async () => (await crowd(lines(a), line)) === 3)
      const write = await within('it writes', held.upgrade())
      impatient.abort(new Error('no more'))
      await gone
      await until('the writer has left', async () => (await crowd(lines(a), line)) === 2)
      await pause(500)
      assert.equal(served, false, 'nobody reads while it writes')
      write.assertHeld()
      await write.release()
      await (await within('it reads again, and the reader with it', reading)).release()
      held.assertHeld()
      await held.release()
    },
  ),
  upgradeable(
    'readers that hold are waited for, wherever they stand; one that dies is waited for until its lease ends',
    async (rig) => {
      const driver = await rig.driver()
      const a = await rig.holdfast()
      await outlasting(driver.traits, 1_500, async (ttlMs) => {
        const line = rig.name()
        const shared = { weight: 1, capacity: 1_000_000 }
        const front = entry(line, shared)
        assert.ok(await driver.enter(front, true))
        // The upgrade looks again with every heartbeat.
        const held = await a.rwLock(line, { ttlMs: 12_000 }).upgrade.acquire()
        const behind = entry(line, { ...shared, ttlMs })
        const place = await driver.enter(behind, true)
        assert.ok(place !== null && isGranted(behind, place))
        let writes = false
        const upgrading = held.upgrade().finally(() => (writes = true))
        // If this is tried again with a longer lease, the case closes what this try has left behind.
        upgrading.catch(() => undefined)
        await driver.leave(front)
        const [still] = await driver.touch([behind])
        assert.ok(still && isGranted(behind, still), 'a grant once given stays')
        assert.equal(writes, false)
        const write = await within('its lease has run out', upgrading)
        assert.deepEqual(await driver.touch([behind]), [null])
        write.assertHeld()
        await write.release()
        await held.release()
      })
    },
  ),
  upgradeable(
    'a lost answer is asked for again: the raise is made once, and given up it is taken back',
    async (rig) => {
      for (const side of ['before', 'after'] as const) {
        let losses = 2
        const lose = (call: number, method: string): void => {
          if (method === 'reweigh' && losses-- > 0) throw lost(call)
        }
        const a = await rig.holdfast({}, (driver) => new FaultyDriver(driver, { [side]: lose }))
        const b = await rig.holdfast()
        const line = rig.name()
        const held = await a.rwLock(line).upgrade.acquire()
        const write = await within('it writes', held.upgrade())
        assert.equal(await b.rwLock(line).read.tryAcquire(), null)
        losses = 2
        assert.equal(await write.release(), true)
        const reader = await within('readers are let in', b.rwLock(line).read.acquire())
        losses = 4
        await assert.rejects(held.upgrade({ waitMs: 400 }), HoldfastError)
        held.assertHeld()
        const beside = await within('the raise that was given up is taken back', b.rwLock(line).read.acquire())
        await beside.release()
        await reader.release()
        assert.equal(await held.release(), true)
      }
    },
  ),
  upgradeable('aborted while it is asked for, it gives no write lock, and readers are let in again', async (rig) => {
    const other = await rig.holdfast()
    const line = rig.name()
    for (const side of ['before', 'after'] as const) {
      const controller = new AbortController()
      const reason = new Error('enough')
      const abort = (_call: number, method: string): void => {
        if (method === 'reweigh') controller.abort(reason)
      }
      const hf = await rig.holdfast({}, (driver) => new FaultyDriver(driver, { [side]: abort }))
      const held = await hf.rwLock(line).upgrade.acquire()
      await assert.rejects(held.upgrade({ signal: controller.signal }), (error) => error === reason)
      held.assertHeld()
      const reader = await within('readers are let in', other.rwLock(line).read.acquire())
      await reader.release()
      assert.equal(await held.release(), true)
    }
  }),
  upgradeable('a reader that was granted before a raise hears of it, though it was not told before', async (rig) => {
    const [driver, other] = [await rig.driver(), await rig.driver()]
    assert.ok(driver.reweigh, 'a store that keeps an order and counts can reweigh')
    const capacity = 1_000_000
    // A writer leaves, and so U and R are granted; U becomes heavier before R has heard of its grant.
    for (let round = 0; round < 5; round++) {
      const line = rig.name()
      const [writer, light, reader] = [capacity, 500_001, 1].map((weight) => entry(line, { weight, capacity }))
      assert.ok(writer && light && reader)
      await driver.enter(writer, true)
      await driver.enter(light, true)
      let isTold = false
      const stop = await other.watch(line, reader.id, () => {
        isTold = true
      })
      await other.enter(reader, true)
      await driver.leave(writer)
      await driver.reweigh({ ...light, weight: capacity }, 1)
      if (other.traits.push !== 'none') await until('the reader is told', () => isTold)
      const [place] = await other.touch([reader])
      assert.ok(place && isGranted(reader, place), 'it stays granted beside the raised place')
      stop()
      await other.leave(reader)
      await driver.leave(light)
    }
  }),
  upgradeable('a raise or a lowering that comes late changes nothing', async (rig) => {
    const driver = await rig.driver()
    assert.ok(driver.reweigh, 'a store that keeps an order and counts can reweigh')
    const line = rig.name()
    const capacity = 1_000_000
    const light = entry(line, { weight: 500_001, capacity })
    const heavy = { ...light, weight: capacity }
    const free = async (): Promise<boolean> => {
      const reader = entry(line, { weight: 1, capacity })
      const place = await driver.enter(reader, false)
      if (place !== null) await driver.leave(reader)
      return place !== null && isGranted(reader, place)
    }
    const entered = await driver.enter(light, true)
    assert.ok(entered)
    const raised = await driver.reweigh(heavy, 1)
    assert.equal(raised?.ahead, 0)
    assert.equal(raised?.token, entered.token)
    assert.equal(await free(), false)
    assert.ok(await driver.reweigh(light, 2))
    assert.ok(await driver.reweigh(heavy, 1), 'the late raise is answered')
    assert.equal(await free(), true, 'and not made')
    assert.equal((await driver.reweigh(heavy, 3))?.ahead, 0)
    assert.ok(await driver.reweigh(light, 2), 'the late lowering is answered')
    assert.equal(await free(), false, 'and not made')
    assert.equal((await driver.reweigh(heavy, 3))?.ahead, 0, 'asked again it answers the same')
    const [touched] = await driver.touch([heavy])
    assert.equal(touched?.ahead, 0, 'it stays so through heartbeats')
    assert.equal(await free(), false)
    await driver.leave(heavy)
    assert.equal(await driver.reweigh(light, 4), null, 'what has left does not come back')
    assert.equal(await free(), true)
    assert.equal(await crowd(driver, line), 0)
  }),
  upgradeable('a raised place counts the readers behind it that hold, until the last of them has gone', async (rig) => {
    const [driver, other] = [await rig.driver(), await rig.driver()]
    assert.ok(driver.reweigh, 'a store that keeps an order and counts can reweigh')
    const line = rig.name()
    const capacity = 1_000_000
    const light = entry(line, { weight: 500_001, capacity })
    const heavy = { ...light, weight: capacity }
    const upgrading = await driver.enter(light, true)
    assert.ok(upgrading && isGranted(light, upgrading))
    const readers = [entry(line, { weight: 1, capacity }), entry(line, { weight: 1, capacity })]
    for (const reader of readers) {
      const place = await other.enter(reader, true)
      assert.ok(place && isGranted(reader, place))
      assert.ok(place.token > upgrading.token, 'it stands behind the one that will be raised')
    }
    const ahead = async (): Promise<number> => {
      const [asked, [touched]] = [await driver.reweigh?.(heavy, 1), await driver.touch([heavy])]
      assert.ok(asked && touched, 'a raised place lives on')
      assert.equal(isGranted(heavy, asked), isGranted(heavy, touched), 'a heartbeat says what the raise says')
      assert.equal(asked.token, upgrading.token)
      return touched.ahead
    }
    for (const reader of readers) {
      assert.ok((await ahead()) >= 1, 'a reader behind it still holds')
      const [still] = await other.touch([reader])
      assert.ok(still && isGranted(reader, still), 'and goes on holding')
      await other.leave(reader)
    }
    assert.equal(await ahead(), 0, 'the last of them has gone')
    assert.equal(await other.enter(entry(line, { weight: 1, capacity }), false), null, 'nobody new is let in')
    await driver.leave(heavy)
  }),
  upgradeable('while it waits to write, the process of a reader that holds lets no further reader in', async (rig) => {
    const [a, b] = [await rig.holdfast(), await rig.holdfast()]
    const line = rig.name()
    for (const order of ['reader first', 'reader behind']) {
      const first = order === 'reader first' ? await b.rwLock(line).read.acquire() : null
      const held = await a.rwLock(line).upgrade.acquire()
      const reader = first ?? (await b.rwLock(line).read.acquire())
      const upgrading = held.upgrade()
      await until('further readers wait', async () => {
        const further = await b.rwLock(line).read.tryAcquire()
        await further?.release()
        return further === null
      })
      await reader.release()
      const write = await within('it writes', upgrading)
      await write.release()
      await held.release()
    }
  }),
  upgradeable('broken while it writes, it keeps a writer behind it out until its lease has run out', async (rig) => {
    const [a, b, c] = [await rig.holdfast(), await rig.holdfast(), await rig.holdfast()]
    const line = rig.name()
    const ttlMs = Math.max(a.traits.ttlMsMin, 2_000)
    const held = await a.rwLock(line, { ttlMs }).upgrade.acquire()
    const write = await within('it writes', held.upgrade())
    let servedAt = 0
    const next = b
      .rwLock(line)
      .write.acquire()
      .finally(() => (servedAt = performance.now()))
    await until('a writer stands behind it', async () => (await crowd(lines(a), line)) === 2)
    // A renewal that is on its way may move the end of the lease, never back.
    const heldUntil = performance.now() + write.remainingMs
    assert.equal(await c.break(line), 1)
    await (await within('the writer is served', next)).release()
    const earlyMs = Math.ceil(heldUntil - servedAt)
    assert.ok(earlyMs < 20, `the writer was served ${earlyMs} ms before the broken lease can have run out`)
    assert.equal(await held.release(), false)
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
          // Released by the end of the work.
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
  upgradeable('extended past its ttl, it writes and goes back to reading as before', async (rig) => {
    if ((await rig.driver()).rename === undefined) return
    const [a, b] = [await rig.holdfast(), await rig.holdfast()]
    const line = rig.name()
    const theirs = b.rwLock(line, { fairness: 'strict' })
    const held = await a.rwLock(line, { ttlMs: LONG_TTL_MS, renew: false }).upgrade.acquire()
    // Each time the place gets another id.
    await held.extend(2 * LONG_TTL_MS)
    const early = await theirs.read.acquire()
    const upgrading = held.upgrade()
    await early.release()
    const write = await within('it writes', upgrading)
    await write.extend(3 * LONG_TTL_MS)
    write.assertHeld()
    assert.equal(await theirs.read.tryAcquire(), null)
    const late = theirs.read.acquire()
    assert.equal(await write.release(), true)
    await (await within('it reads again, and others with it', late)).release()
    held.assertHeld()
    assert.equal(await held.release(), true)
    await until('nothing is left', async () => (await crowd(lines(a), line)) === 0)
  }),
]
