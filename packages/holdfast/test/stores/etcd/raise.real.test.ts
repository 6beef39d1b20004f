import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type EtcdStore, etcd } from '../../../src/stores/etcd/index.ts'
import { type Entry, isGranted, type Place } from '../../../src/contract/driver.ts'
import { makeInstance } from '../../../src/holdfast.ts'
import { faultProxy } from '../../../../holdfast-lab/src/testbed/proxy.ts'
import { skipped } from '../../../../holdfast-lab/src/testbed/require.ts'
import { lineOf, oneMember, open, rawClient } from './rig.ts'

let url: string
beforeAll(
  oneMember((at) => {
    url = at
  }),
)

// Heartbeats so rare that nothing in a test can be owed to them.
const RARE = { ttlMs: 300_000 }
const CAPACITY = 1_000_000
const HALF = 500_001

async function store(): Promise<EtcdStore> {
  const opened = await etcd(url)
  onTestFinished(() => opened.close())
  return opened
}

function entry(line: string, weight: number, ttlMs = 300_000): Entry {
  return { line, id: randomBytes(16).toString('hex'), weight, capacity: CAPACITY, ttlMs, data: '{}' }
}

async function touched(driver: EtcdStore, wanted: Entry): Promise<Place> {
  const [place] = await driver.touch([wanted])
  expect(place).not.toBeNull()
  return place as Place
}

/** What a process leaves that dies, or gets no answer, between the two steps of a raise. */
async function markOnly(line: string, raised: Entry): Promise<void> {
  const client = rawClient(url)
  const { kvs } = await client.range({
    key: Buffer.from(`holdfast/line/${line}/${CAPACITY}/${raised.weight}/`),
    rangeEnd: Buffer.from(`holdfast/line/${line}/${CAPACITY}/${raised.weight}0`),
  })
  const [kv] = kvs
  if (kv === undefined) throw new Error('nobody stands there')
  const value = Buffer.from(`{"id":"${raised.id}","ttlMs":${raised.ttlMs},"at":0,"turn":1,"data":{}}`)
  const mark = Buffer.from(`{"token":"${kv.createRevision}","weight":${CAPACITY},"beside":null}`)
  await client.txn({
    success: [
      { put: { key: kv.key, value, lease: kv.lease } },
      { put: { key: Buffer.from(`holdfast/raised/${line}`), value: mark, lease: kv.lease } },
    ],
  })
}

async function raisedKeys(): Promise<number> {
  const range = { key: Buffer.from('holdfast/raised/'), rangeEnd: Buffer.from('holdfast/raised0') }
  return (await rawClient(url).range(range)).kvs.length
}

describe.skipIf(skipped('etcd'))('a place that gets heavier', () => {
  test.each([1, 2])(
    'the reply to step %i is lost: it is asked for again, and writes when the reader has gone',
    async (step) => {
      const proxy = await faultProxy({ port: Number(new URL(url.replace('etcd:', 'http:')).port) })
      onTestFinished(() => proxy.close())
      const line = `lost-step-${step}`
      const [a, b] = [await open(`etcd://127.0.0.1:${proxy.port}`), await open(url)]
      const held = await a.rwLock(line, RARE).upgrade.acquire()
      const reader = await b.rwLock(line, RARE).read.acquire()
      let writes = 0
      const lost = proxy.loseNextReply({
        match: (bytes) => bytes.includes(`holdfast/raised/${line}`) && bytes.includes('"weight"') && ++writes === step,
      })
      const upgrading = held.upgrade()
      expect(await lost).toBe(true)
      await expect.poll(async () => (await b.rwLock(line, RARE).read.tryAcquire()) === null).toBe(true)
      await reader.release()
      const write = await upgrading
      write.assertHeld()
      const late = b.rwLock(line, RARE).read.acquire()
      await write.release()
      await (await late).release()
      expect(await held.release()).toBe(true)
      expect(await raisedKeys()).toBe(0)
    },
  )

  test('between the steps nobody new is granted, also when the writer in front goes; a holder stays', async () => {
    const [a, b, c] = [await store(), await store(), await store()]
    const line = 'half-raised'
    const [light, reader, writer, last] = [entry(line, HALF), entry(line, 1), entry(line, CAPACITY), entry(line, 1)]
    const heavy = { ...light, weight: CAPACITY }
    await a.enter(light, true)
    expect(isGranted(reader, (await b.enter(reader, true)) as Place)).toBe(true)
    await b.enter(writer, true)
    expect(isGranted(last, (await b.enter(last, true)) as Place)).toBe(false)
    await markOnly(line, light)
    await b.leave(writer)
    expect(isGranted(reader, await touched(b, reader))).toBe(true)
    expect(isGranted(last, await touched(b, last))).toBe(false)
    // A stranger to it can't know whether it was granted before; it was, and is again once that is written.
    expect(isGranted(reader, await touched(c, reader))).toBe(false)
    expect(await c.enter(entry(line, 1), false)).toBeNull()
    expect(isGranted(heavy, await touched(a, light))).toBe(false)
    expect(isGranted(light, await touched(a, light))).toBe(true)
    const raised = await a.reweigh?.(heavy, 1)
    // The last one was in the line before the mark, and nobody in front keeps it out: it is let in, and waited for.
    expect(raised?.ahead).toBeGreaterThan(0)
    expect(isGranted(reader, await touched(c, reader))).toBe(true)
    expect(isGranted(last, await touched(b, last))).toBe(true)
    expect(await c.enter(entry(line, 1), false)).toBeNull()
    await b.leave(reader)
    expect((await touched(a, light)).ahead).toBe(1)
    await b.leave(last)
    expect((await touched(a, light)).ahead).toBe(0)
    await a.leave(light)
    expect(await raisedKeys()).toBe(0)
  })

  test('between the steps a reader is handed on, and its heir holds', async () => {
    const [a, b, c, d] = [await store(), await store(), await store(), await store()]
    const line = 'half-raised-heir'
    const [light, reader, heir] = [entry(line, HALF), entry(line, 1), entry(line, 1)]
    await a.enter(light, true)
    await b.enter(reader, true)
    await markOnly(line, light)
    expect(isGranted(heir, (await c.rename?.(reader, heir.id)) as Place)).toBe(true)
    // The same if the answer was lost, and another thread asks again.
    expect(isGranted(heir, (await d.rename?.(reader, heir.id)) as Place)).toBe(true)
    await c.leave(heir)
    await a.leave(light)
  })

  test('between the steps it gets another id, and readers that came after the first step still wait', async () => {
    const [a, b] = [await store(), await store()]
    const line = 'half-raised-renamed'
    const [light, late] = [entry(line, HALF), entry(line, 1)]
    await a.enter(light, true)
    await markOnly(line, light)
    expect(isGranted(late, (await b.enter(late, true)) as Place)).toBe(false)
    const renamed = { ...light, id: entry(line, 1).id }
    expect(await a.rename?.(light, renamed.id)).not.toBeNull()
    expect((await a.reweigh?.({ ...renamed, weight: CAPACITY }, 1))?.ahead).toBe(0)
    expect(isGranted(late, await touched(b, late))).toBe(false)
    await a.leave(renamed)
    expect(isGranted(late, await touched(b, late))).toBe(true)
    await b.leave(late)
  })

  test('who waits behind it is woken when it gets lighter', async () => {
    const [a, b] = [await open(url), await open(url)]
    const held = await a.rwLock('lighter', RARE).upgrade.acquire()
    const write = await held.upgrade()
    const reading = Promise.all(
      Array.from({ length: 3 }, () => b.rwLock('lighter', RARE).read.acquire({ waitMs: 30_000 })),
    )
    await expect.poll(async () => (await lineOf(a, 'lighter')).waiters.length).toBeGreaterThan(0)
    await write.release()
    for (const reader of await reading) await reader.release()
    await held.release()
  })

  test('a heartbeat that calls the roll of many holds says of a raised one who is still beside it', async () => {
    const [a, b] = [await store(), await store()]
    const holds = Array.from({ length: 100 }, (_, i) => ({ ...entry(`beside-${i}`, 1), capacity: 1 }))
    for (const hold of holds) await a.enter(hold, true)
    const [light, reader] = [entry('roll', HALF), entry('roll', 1)]
    await a.enter(light, true)
    await b.enter(reader, true)
    expect((await a.reweigh?.({ ...light, weight: CAPACITY }, 1))?.ahead).toBe(1)
    expect((await a.touch([...holds, light])).at(-1)?.ahead).toBe(1)
    await b.leave(reader)
    expect((await a.touch([...holds, light])).at(-1)?.ahead).toBe(0)
    for (const hold of [...holds, light]) await a.leave(hold)
  })

  test('a reader is told that others wait, behind it or to become heavier, and not that others read', async () => {
    const [a, b] = [await store(), await store()]
    const line = 'wanted'
    const [light, reader, other, writer] = [entry(line, HALF), entry(line, 1), entry(line, 1), entry(line, CAPACITY)]
    await a.enter(reader, true)
    expect((await touched(a, reader)).wanted).toBe(false)
    await b.enter(light, true)
    await b.enter(other, true)
    expect((await touched(a, reader)).wanted).toBe(false)
    expect((await touched(b, other)).wanted).toBe(false)
    await b.reweigh?.({ ...light, weight: CAPACITY }, 1)
    expect((await touched(a, reader)).wanted).toBe(true)
    expect((await touched(b, other)).wanted).toBe(true)
    await b.reweigh?.(light, 2)
    expect((await touched(a, reader)).wanted).toBe(false)
    await b.enter(writer, true)
    expect((await touched(a, reader)).wanted).toBe(true)
    // Of many holds the roll is called, which tells nothing of others.
    const holds = Array.from({ length: 100 }, (_, i) => ({ ...entry(`wanted-${i}`, 1), capacity: 1 }))
    for (const hold of holds) await a.enter(hold, true)
    expect((await a.touch([...holds, reader])).at(-1)?.wanted).toBe(true)
    for (const hold of [...holds, reader]) await a.leave(hold)
    for (const place of [writer, other, light]) await b.leave(place)
  })

  test('broken, it stays as heavy as it was until its lease is over, and then leaves nothing behind', async () => {
    const [a, b] = [await store(), await open(url)]
    const light = entry('broken-raised', HALF, 3_000)
    await a.enter(light, true)
    expect((await a.reweigh?.({ ...light, weight: CAPACITY }, 1))?.ahead).toBe(0)
    expect(await b.break('broken-raised')).toBe(1)
    expect(await a.reweigh?.(light, 2)).toBeNull()
    await a.leave(light)
    expect(await b.rwLock('broken-raised').read.tryAcquire()).toBeNull()
    await (await b.rwLock('broken-raised').read.acquire({ waitMs: 30_000 })).release()
    expect(await raisedKeys()).toBe(0)
    const again = entry('broken-raised', HALF, 300_000)
    await a.enter(again, true)
    await a.reweigh?.({ ...again, weight: CAPACITY }, 1)
    expect(await b.break('broken-raised', { now: true })).toBe(1)
    await (await b.rwLock('broken-raised').read.acquire({ waitMs: 30_000 })).release()
    expect(await raisedKeys()).toBe(0)
  })

  test('the fixed-key layout has no order, and refuses', async () => {
    const hf = makeInstance(await etcd({ url, layout: 'key' }), {})
    onTestFinished(() => hf.close())
    await expect(hf.rwLock('none').upgrade.acquire()).rejects.toMatchObject({ code: 'HF_UNSUPPORTED' })
  })
})
