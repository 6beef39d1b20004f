import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Entry, isGranted, type Place } from '../../../src/contract/driver.ts'
import { type EtcdStore, etcd } from '../../../src/stores/etcd/index.ts'
import { skipped } from '../../../../holdfast-lab/src/testbed/require.ts'
import { lineOf, oneMember, open, rawClient } from './rig.ts'

const TTL = { ttlMs: 60_000 }
let url: string
beforeAll(
  oneMember((at) => {
    url = at
  }),
)

/** How many transactions etcd has been asked for. */
async function txns(): Promise<number> {
  const answer = await fetch(`${url.replace('etcd:', 'http:')}/metrics`, { headers: { connection: 'close' } })
  const count = /^grpc_server_started_total\{grpc_method="Txn",.*\} (.+)$/m.exec(await answer.text())?.[1]
  return Number(count ?? 0)
}

describe.skipIf(skipped('etcd'))('what is asked for in one turn is one request', () => {
  test('300 locks of different names take a few transactions, and as few to give back', async () => {
    const hf = await open(url, TTL)
    await (await hf.mutex('first').acquire()).release()
    const before = await txns()
    const holds = await Promise.all(Array.from({ length: 300 }, (_, i) => hf.mutex(`apart-${i}`).acquire()))
    const between = await txns()
    for (const held of holds) held.assertHeld()
    expect(between - before).toBeLessThanOrEqual(10)
    expect(await Promise.all(holds.map((held) => held.release()))).toEqual(holds.map(() => true))
    expect((await txns()) - between).toBeLessThanOrEqual(10)
    expect(
      (await rawClient(url).range({ key: Buffer.from('holdfast/line/'), rangeEnd: Buffer.from('h~') })).count,
    ).toBe(0)
  })

  test('of those that ask for one empty line in one turn, one alone is let in', async () => {
    const hf = await open(url, TTL)
    for (let i = 0; i < 30; i++) {
      const lock = hf.rwLock(`both-${i}`, { reentrant: false })
      const asked = await Promise.all([lock.read.tryAcquire(), lock.write.tryAcquire(), lock.write.tryAcquire()])
      expect(asked.filter((held) => held !== null)).toHaveLength(1)
      const waiting = [lock.write.acquire(), lock.read.acquire()]
      for (const held of asked) await held?.release()
      const tokens: bigint[] = []
      await Promise.all(
        waiting.map(async (each) => {
          const held = await each
          tokens.push(held.token)
          await held.release()
        }),
      )
      expect(new Set(tokens).size).toBe(2)
    }
  })

  test('the lease of some is gone: all are served, those of another ttl as well', async () => {
    const hf = await open(url)
    const client = rawClient(url)
    const pilot = await hf.mutex('pilot', TTL).acquire()
    const rangeEnd = Buffer.from('holdfast/line/pilot0')
    const [place] = (await client.range({ key: Buffer.from('holdfast/line/pilot/'), rangeEnd })).kvs
    await client.lease.revoke(place?.lease as bigint)
    const holds = await Promise.all(
      Array.from({ length: 40 }, (_, i) => hf.mutex(`orphan-${i}`, { ttlMs: i % 2 === 0 ? 60_000 : 50_000 }).acquire()),
    )
    for (const held of holds) held.assertHeld()
    for (const held of holds) expect(await held.release()).toBe(true)
    await pilot.release()
    expect((await lineOf(hf, 'orphan-0')).holders).toEqual([])
  })

  test('a kept lock whose numbers are used up goes on with a new place by one transaction', async () => {
    const hf = await open(url, TTL)
    const lock = hf.mutex('spent', { keep: true })
    const tokens: bigint[] = []
    const use = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++) await lock.using(({ token }) => void tokens.push(token))
    }
    await use(1)
    // Whatever the store tells about the beginning has been told.
    await expect.poll(async () => (await txns()) - (await txns()), { timeout: 30_000 }).toBe(0)
    const before = await txns()
    // A look each time that the store tells of the change, and of what was told while it looked.
    await use(4 * 1_024)
    expect((await txns()) - before).toBeLessThanOrEqual(4 * 3)
    expect(tokens.every((token, i) => i === 0 || token > (tokens[i - 1] as bigint))).toBe(true)
  })

  test('who leaves and enters in one turn passes neither a waiter behind it nor a reader beside it', async () => {
    const [ours, theirs] = [await store(), await store()]
    const [holder, waiter, next] = [entry('turn', 1), entry('turn', 1), entry('turn', 1)]
    await ours.enter(holder, true)
    await theirs.enter(waiter, true)
    const [, behind] = await Promise.all([ours.leave(holder), ours.enter(next, true)])
    expect(isGranted(next, behind as Place)).toBe(false)

    const [reader, other, writer] = [entry('read', 9), entry('read', 9), { ...entry('read', 9), weight: 9 }]
    await theirs.enter(other, true)
    expect(isGranted(reader, (await ours.enter(reader, true)) as Place)).toBe(true)
    const [, kept] = await Promise.all([ours.leave(reader), ours.enter(writer, true)])
    expect(isGranted(writer, kept as Place)).toBe(false)
  })
})

async function store(): Promise<EtcdStore> {
  const opened = await etcd(url)
  onTestFinished(() => opened.close())
  return opened
}

function entry(line: string, capacity: number): Entry {
  return { line, id: randomBytes(16).toString('hex'), weight: 1, capacity, ttlMs: 60_000, data: '{}' }
}
