import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { EtcdClient, EtcdUnreachableError, type KeepAliveReply } from '../../../src/clients/etcd/index.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { Cluster, endpointOf, freeze } from './cluster.ts'
import { Recorder } from './record.ts'

const b = (text: string): Buffer => Buffer.from(text)
let cluster: Cluster
let run = 0
let prefix = ''

beforeAll(async () => {
  cluster = await Cluster.open(3)
})
afterAll(() => cluster?.close())
beforeEach(() => {
  prefix = `run${++run}/`
})

/** A client that starts with the first of these members. */
function clientOf(members: readonly Server[], timeoutMs = 30_000): EtcdClient {
  const client = new EtcdClient({ endpoints: members.map(endpointOf), timeoutMs, random: () => 0 })
  onTestFinished(() => client.close())
  return client
}

/** Writes values until so many have been confirmed; a rejected write may have happened, so each value is new. */
async function writeUntil(client: EtcdClient, key: Buffer, count: number): Promise<void> {
  for (let tries = 0, done = 0; done < count; tries++) {
    try {
      await client.put({ key, value: b(String(tries)) }, { timeoutMs: 3_000 })
      done++
    } catch (error) {
      if (!(error instanceof EtcdUnreachableError)) throw error
    }
  }
}

test('the leader is killed: a watch on it goes on elsewhere, every revision told once and in order', async () => {
  const { found: leader, others } = await cluster.leader()
  const key = b(`${prefix}k`)
  const seen = new Recorder()
  await clientOf([leader, ...others]).watch(key, {}, seen)
  const writer = clientOf([...others, leader])
  await writeUntil(writer, key, 3)
  await seen.count(3)
  await leader.kill()
  await writeUntil(writer, key, 3)
  const now = await writer.range({ key })
  const version = Number(now.kvs[0]?.version)
  await seen.count(version)
  expect(seen.events.map((event) => event.kv.version)).toEqual(Array.from({ length: version }, (_, i) => BigInt(i + 1)))
  await leader.start()
})

test('a dead endpoint first in the list is passed over', async () => {
  const { found: leader, others } = await cluster.leader()
  const dead = others[0] as Server
  await dead.kill()
  const client = clientOf([dead, leader])
  const { header } = await client.put({ key: b(`${prefix}k`) })
  expect(header.revision).toBeGreaterThan(0n)
  await dead.start()
})

test('a stopped member: a write says it may have happened, the next call moves on', async () => {
  const client = clientOf(cluster.members)
  const key = b(`${prefix}k`)
  await client.put({ key, value: b('1') })
  const { found: stopped } = await cluster.serving(client)
  await freeze(stopped)
  try {
    const error: unknown = await client.put({ key, value: b('2') }, { timeoutMs: 1_000 }).catch((e: unknown) => e)
    expect(error).toBeInstanceOf(EtcdUnreachableError)
    expect(error).toMatchObject({ mayHaveApplied: true })
    await writeUntil(client, key, 1)
  } finally {
    stopped.resume()
  }
})

test('a member stops while it serves: read, watch and keep-alive all go on through another', async () => {
  const client = clientOf(cluster.members)
  const key = b(`${prefix}k`)
  const seen = new Recorder()
  await client.watch(key, {}, seen)
  const { id } = await client.lease.grant({ ttlS: 60 })
  const replies: Promise<KeepAliveReply>[] = []
  const arrived: ((reply: KeepAliveReply) => void)[] = []
  for (let i = 0; i < 2; i++) replies.push(new Promise((resolve) => void arrived.push(resolve)))
  const keepAlive = client.keepAlive({ onReply: (reply) => arrived.shift()?.(reply) })
  keepAlive.send(id)
  await replies[0]
  const { found: stopped, others } = await cluster.serving(client)
  await freeze(stopped)
  try {
    const stoppedAtMs = performance.now()
    keepAlive.send(id, 500)
    const reply = await replies[1]
    expect(reply?.ttlS).toBe(60)
    // The first request went into the stopped member: the answer belongs to a later one.
    expect((reply?.sentAtMs ?? 0) - stoppedAtMs).toBeGreaterThanOrEqual(500)
    expect((await client.range({ key })).count).toBe(0)
    await writeUntil(clientOf(others), key, 1)
    await seen.count(1)
  } finally {
    stopped.resume()
  }
  expect(seen.events[0]?.kv.version).toBe(1n)
})

test('quorum is lost: a write ends by its deadline, a watch stream on the rest ends, not in silence', async () => {
  const { found: leader, others } = await cluster.leader()
  const client = clientOf([leader])
  const seen = new Recorder()
  const key = b(`${prefix}k`)
  await client.watch(key, {}, seen)
  await Promise.all(others.map((member) => member.kill()))
  const error: unknown = await client.put({ key }, { timeoutMs: 1_500 }).catch((e: unknown) => e)
  expect(error).toBeInstanceOf(EtcdUnreachableError)
  await Promise.all(others.map((member) => member.start()))
  await client.put({ key, value: b('back') }, { timeoutMs: 30_000 })
  await seen.until(() => seen.told.includes(`put ${prefix}k=back`))
})
