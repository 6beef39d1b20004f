/** A reader's place that becomes a writer's, in the tree: marks, lost replies, and who is woken. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { makeInstance } from '../../../src/holdfast.ts'
import { zookeeper } from '../../../src/stores/zookeeper/index.ts'
import { faultProxy } from '../../../../holdfast-lab/src/testbed/proxy.ts'
import { aborted, placesOf, Rig } from './rig.ts'

// Heartbeats so rare that nothing in a test can be owed to them.
const RARE = { ttlMs: 300_000 }

let rig: Rig
beforeAll(async () => {
  rig = await Rig.open(1, { tickMs: 500, config: { maxSessionTimeout: 900_000 } })
})
afterEach(() => rig.clear())
afterAll(() => rig?.[Symbol.asyncDispose]())

test.each([1, 2])(
  'the reply to step %i is lost: the raise is made once, and writes when the reader has gone',
  async (step) => {
    const proxy = await faultProxy({ port: Number(rig.addresses[0]?.split(':')[1]) })
    const line = `lost-${step}`
    const a = makeInstance(await zookeeper({ servers: [`127.0.0.1:${proxy.port}`] }), {})
    const b = await rig.holdfast()
    try {
      const held = await a.rwLock(line, RARE).upgrade.acquire()
      const reader = await b.rwLock(line, RARE).read.acquire()
      let writes = 0
      const lost = proxy.loseNextReply({ match: (bytes) => bytes.includes('-1000000-o-') && ++writes === step })
      const upgrading = held.upgrade()
      expect(await lost).toBe(true)
      await reader.release()
      const write = await upgrading
      write.assertHeld()
      expect(await b.rwLock(line, RARE).read.tryAcquire()).toBeNull()
      expect(await placesOf(rig.client(), line)).toHaveLength(2)
      await write.release()
      await (await b.rwLock(line, RARE).read.acquire()).release()
      await held.release()
      expect(await placesOf(rig.client(), line)).toEqual([])
    } finally {
      await a.close()
      await proxy.close()
    }
  },
)

test('who waits behind it is woken when it reads again, and it when the last reader goes', async () => {
  const [a, b, c] = [await rig.holdfast(), await rig.holdfast(), await rig.holdfast()]
  const line = 'woken'
  const held = await a.rwLock(line, RARE).upgrade.acquire()
  const beside = await b.rwLock(line, RARE).read.acquire()
  const upgrading = held.upgrade()
  await expect.poll(async () => (await placesOf(rig.client(), line)).some((path) => path.includes('/r-'))).toBe(true)
  let isIn = false
  const reading = c
    .rwLock(line, RARE)
    .read.acquire()
    .then((reader) => {
      isIn = true
      return reader
    })
  await expect.poll(async () => (await placesOf(rig.client(), line)).length).toBe(4)
  await beside.release()
  const write = await upgrading
  expect(isIn).toBe(false)
  await write.release()
  const reader = await reading
  held.assertHeld()
  await reader.release()
  await held.release()
  expect(await placesOf(rig.client(), line)).toEqual([])
})

test('who breaks it takes its mark along; a mark that is left behind by hand stands in nobody’s way', async () => {
  const [a, b] = [await rig.holdfast(), await rig.holdfast()]
  const line = 'broken'
  const held = await a.rwLock(line, RARE).upgrade.acquire()
  const write = await held.upgrade()
  expect(await b.break(line, { now: true })).toBe(1)
  await aborted(write.signal)
  await held.release()
  await expect.poll(() => placesOf(rig.client(), line)).toEqual([])
  const hand = rig.client()
  const mark = `/holdfast/lines/${line}/r-${'0'.repeat(32)}-1000000-o-`
  await hand.create(mark, undefined, { mode: 'ephemeralSequential' })
  for (const lock of [b.rwLock(line, RARE).read, b.rwLock(line, RARE).write]) await (await lock.acquire()).release()
})

test('a reader that was broken, and leaves before it has heard of it, stays until its lease has run out', async () => {
  const [a, b] = [await rig.holdfast(), await rig.holdfast()]
  const line = 'unheard'
  const askedAt = performance.now()
  const reader = await a.rwLock(line, { ttlMs: 5_000 }).read.acquire()
  const writing = b.rwLock(line).write.acquire()
  expect(await b.break(line)).toBe(1)
  await reader.release()
  const writer = await writing
  expect(performance.now() - askedAt).toBeGreaterThan(4_900)
  await writer.release()
})
