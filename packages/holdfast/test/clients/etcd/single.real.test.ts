import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import {
  EtcdClient,
  EtcdCompactedError,
  EtcdError,
  EtcdWatchCancelledError,
  type KeepAliveReply,
} from '../../../src/clients/etcd/index.ts'
import { Cluster, endpointOf, etcdctl } from './cluster.ts'
import { Gate } from './gate.ts'
import { Recorder } from './record.ts'

const b = (text: string): Buffer => Buffer.from(text)
let cluster: Cluster
let client: EtcdClient
let run = 0
let prefix = ''

beforeAll(async () => {
  cluster = await Cluster.open()
})
afterAll(() => cluster?.close())
beforeEach(() => {
  prefix = `run${++run}/`
  client = new EtcdClient({ endpoints: cluster.endpoints, timeoutMs: 30_000 })
  onTestFinished(() => client.close())
})

test('put, range, deleteRange', async () => {
  for (const [i, name] of ['a', 'b', 'c'].entries()) await client.put({ key: b(prefix + name), value: b(String(i)) })
  const range = { key: b(prefix), rangeEnd: b(`${prefix}~`) }
  const all = await client.range({ ...range, sortOrder: 'descend', sortTarget: 'create', limit: 2 })
  expect(all.kvs.map((kv) => String(kv.value))).toEqual(['2', '1'])
  expect([all.more, all.count]).toEqual([true, 3])
  expect(all.kvs[0]?.createRevision).toBe(all.header.revision)
  const replaced = await client.put({ key: b(`${prefix}a`), value: Buffer.alloc(0), prevKv: true })
  expect(String(replaced.prevKv?.value)).toBe('0')
  const removed = await client.deleteRange({ ...range, prevKv: true })
  expect([removed.deleted, removed.prevKvs.length]).toEqual([3, 3])
  expect((await client.range({ ...range, countOnly: true })).count).toBe(0)
})

test('a transaction: every kind of compare, both branches, range compares', async () => {
  const key = b(`${prefix}k`)
  const create = { compare: [{ key, target: 'create', result: '=', createRevision: 0n }] } as const
  const put = { success: [{ put: { key, value: b('v') } }, { range: { key } }], failure: [{ range: { key } }] }
  const made = await client.txn({ ...create, ...put })
  expect(made.succeeded).toBe(true)
  const kv = made.responses[1]?.range?.kvs[0]
  expect(kv?.createRevision).toBe(made.header.revision)
  const again = await client.txn({ ...create, ...put })
  expect([again.succeeded, again.responses[0]?.range?.kvs[0]?.modRevision]).toEqual([false, made.header.revision])
  const holds = await client.txn({
    compare: [
      { key, target: 'version', result: '=', version: 1n },
      { key, target: 'mod', result: '<', modRevision: made.header.revision + 1n },
      { key, target: 'value', result: '!=', value: b('w') },
      { key, target: 'lease', result: '=', lease: 0n },
      { key, rangeEnd: b(`${prefix}~`), target: 'create', result: '>', createRevision: 0n },
    ],
    success: [{ deleteRange: { key } }],
  })
  expect([holds.succeeded, holds.responses[0]?.deleteRange?.deleted]).toEqual([true, 1])
})

test('leases: granted, kept alive with the instant of sending, looked at, revoked', async () => {
  const { id, ttlS } = await client.lease.grant({ ttlS: 20 })
  expect(ttlS).toBe(20)
  await client.put({ key: b(`${prefix}k`), lease: id })
  const reply = new Promise<KeepAliveReply>((resolve) => {
    const keepAlive = client.keepAlive({ onReply: resolve })
    keepAlive.send(id)
  })
  const { sentAtMs, ...answered } = await reply
  expect(answered).toEqual({ id, ttlS: 20 })
  expect(sentAtMs).toBeLessThan(performance.now())
  const left = await client.lease.timeToLive({ id, keys: true })
  expect([left.grantedTtlS, left.keys.map(String)]).toEqual([20, [`${prefix}k`]])
  await client.lease.revoke(id)
  expect((await client.lease.timeToLive({ id })).ttlS).toBe(-1)
  await expect(client.lease.revoke(id)).rejects.toMatchObject({ statusName: 'NOT_FOUND', mayHaveApplied: false })
  await expect(client.put({ key: b('x'), lease: id })).rejects.toBeInstanceOf(EtcdError)
  const gone = new Promise<KeepAliveReply>((resolve) => client.keepAlive({ onReply: resolve }).send(id))
  expect((await gone).ttlS).toBe(0)
})

test('a lease with an id of our own, beyond 2^53, lapses; a watch sees its key go', async () => {
  const id = 2n ** 62n + BigInt(run)
  const granted = await client.lease.grant({ ttlS: 1, id })
  expect(granted.id).toBe(id)
  const key = b(`${prefix}k`)
  const put = await client.put({ key, value: b('v'), lease: id })
  const seen = new Recorder()
  await client.watch(key, { startRevision: put.header.revision, prevKv: true }, seen)
  await seen.count(2)
  expect(seen.events.map((event) => event.type)).toEqual(['put', 'delete'])
  expect(seen.events[1]?.prevKv?.lease).toBe(id)
})

test('watchers share a stream, filter, and hear nothing after cancel', async () => {
  const [puts, deletes, all] = [new Recorder(), new Recorder(), new Recorder()]
  const range = { rangeEnd: b(`${prefix}~`) }
  await client.watch(b(prefix), { ...range, filters: ['nodelete'] }, puts)
  await client.watch(b(prefix), { ...range, filters: ['noput'] }, deletes)
  const cancelled = await client.watch(b(prefix), range, all)
  await client.put({ key: b(`${prefix}a`), value: b('1') })
  await all.count(1)
  cancelled.cancel()
  await client.deleteRange({ key: b(`${prefix}a`) })
  await client.put({ key: b(`${prefix}b`), value: b('2') })
  await Promise.all([puts.count(2), deletes.count(1)])
  expect(puts.told).toEqual([`put ${prefix}a=1`, `put ${prefix}b=2`])
  expect(deletes.told).toEqual([`delete ${prefix}a=`])
  expect(all.events.length).toBe(1)
  const empty = new Recorder()
  await expect(client.watch(b('b'), { rangeEnd: b('a') }, empty)).rejects.toBeInstanceOf(EtcdWatchCancelledError)
})

test('an answer larger than a message comes in pieces and is told whole', async () => {
  const first = await client.put({ key: b(`${prefix}0`), value: Buffer.alloc(1_000_000, 1) })
  for (const name of ['1', '2', '3', '4'])
    await client.put({ key: b(prefix + name), value: Buffer.alloc(1_000_000, 1) })
  const seen = new Recorder()
  await client.watch(b(prefix), { rangeEnd: b(`${prefix}~`), startRevision: first.header.revision }, seen)
  await seen.count(5)
  expect(seen.events.map((event) => String(event.kv.key).slice(prefix.length))).toEqual(['0', '1', '2', '3', '4'])
})

test('compacted history is told, with the oldest revision left', async () => {
  const first = await client.put({ key: b(`${prefix}k`) })
  const last = await client.put({ key: b(`${prefix}k`) })
  await etcdctl(endpointOf(cluster.first), 'compact', String(last.header.revision))
  const seen = new Recorder()
  await client.watch(b(`${prefix}k`), { startRevision: first.header.revision }, seen)
  const error = await seen.end()
  expect(error).toBeInstanceOf(EtcdCompactedError)
  expect((error as EtcdCompactedError).compactRevision).toBe(last.header.revision)
  await expect(client.range({ key: b(`${prefix}k`), revision: first.header.revision })).rejects.toMatchObject({
    statusName: 'OUT_OF_RANGE',
  })
})

test('a quiet watch is left in peace: probes are no offence to the server', async () => {
  const gate = new Gate(endpointOf(cluster.first))
  const probing = new EtcdClient({ endpoints: [await gate.listen()], probeIntervalMs: 30, probeWaitMs: 20_000 })
  const seen = new Recorder()
  await probing.watch(b(`${prefix}k`), {}, seen)
  // With HTTP/2 pings the third of these would have ended the connection.
  await new Promise<void>((resolve) => {
    let probes = 0
    gate.onSent = () => ++probes === 60 && resolve()
  })
  await client.put({ key: b(`${prefix}k`) })
  await seen.count(1)
  expect(gate.connections).toBe(1)
  await probing.close()
  await gate.close()
})

test('history compacted while a watch was cut off is told when it comes back', async () => {
  const key = b(`${prefix}k`)
  const gate = new Gate(endpointOf(cluster.first))
  const cut = new EtcdClient({ endpoints: [await gate.listen()], timeoutMs: 30_000 })
  const seen = new Recorder()
  await cut.watch(key, {}, seen)
  await client.put({ key, value: b('before') })
  await seen.count(1)
  gate.shut()
  for (let i = 0; i < 3; i++) await client.put({ key, value: b('missed') })
  const last = await client.put({ key, value: b('last') })
  await etcdctl(endpointOf(cluster.first), 'compact', String(last.header.revision))
  gate.open()
  const error = await seen.end()
  expect(error).toBeInstanceOf(EtcdCompactedError)
  expect((error as EtcdCompactedError).compactRevision).toBe(last.header.revision)
  expect(seen.told).toEqual([`put ${prefix}k=before`])
  await cut.close()
  await gate.close()
})

test('a watch goes on across a restart of the server, without a gap and without doubles', async () => {
  const key = b(`${prefix}k`)
  const seen = new Recorder()
  await client.watch(key, {}, seen)
  for (const value of ['1', '2']) await client.put({ key, value: b(value) })
  await seen.count(2)
  await cluster.first.kill()
  await cluster.first.start()
  const other = new EtcdClient({ endpoints: cluster.endpoints, timeoutMs: 30_000 })
  for (const value of ['3', '4', '5']) await other.put({ key, value: b(value) })
  await other.close()
  await seen.count(5)
  expect(seen.told).toEqual(['1', '2', '3', '4', '5'].map((value) => `put ${prefix}k=${value}`))
})
