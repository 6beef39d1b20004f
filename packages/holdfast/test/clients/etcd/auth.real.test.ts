import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { EtcdClient, EtcdWatchCancelledError } from '../../../src/clients/etcd/index.ts'
import { etcd } from '../../../src/stores/etcd/index.ts'
import { type Holdfast, makeInstance } from '../../../src/holdfast.ts'
import { Cluster, endpointOf, etcdctl } from './cluster.ts'
import { Recorder } from './record.ts'

const b = (text: string): Buffer => Buffer.from(text)
let cluster: Cluster

beforeAll(async () => {
  cluster = await Cluster.open(1, { flags: ['--auth-token-ttl', '1'] })
  const ctl = (...args: string[]): Promise<string> => etcdctl(endpointOf(cluster.first), ...args)
  await ctl('user', 'add', 'root:r00t')
  await ctl('user', 'add', 'ann:secret-of-ann')
  await ctl('role', 'add', 'ann')
  await ctl('role', 'grant-permission', 'ann', '--prefix=true', 'readwrite', 'ann/')
  await ctl('user', 'grant-role', 'ann', 'ann')
  await ctl('auth', 'enable')
})
afterAll(() => cluster?.close())

function clientOf(credentials: { user?: string; password?: string }): EtcdClient {
  const client = new EtcdClient({ endpoints: cluster.endpoints, timeoutMs: 30_000, ...credentials })
  onTestFinished(() => client.close())
  return client
}

/** Until the server has forgotten the token of a client that was idle: simple tokens live 1 s here. */
async function untilTokenExpired(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 3_000))
}

test('with user and password calls are served, without they are refused', async () => {
  const ann = clientOf({ user: 'ann', password: 'secret-of-ann' })
  await ann.put({ key: b('ann/k'), value: b('1') })
  expect((await ann.range({ key: b('ann/k') })).count).toBe(1)
  await expect(ann.put({ key: b('bob/k') })).rejects.toMatchObject({
    statusName: 'PERMISSION_DENIED',
    mayHaveApplied: false,
  })
  await expect(clientOf({}).put({ key: b('ann/k') })).rejects.toMatchObject({ statusName: 'INVALID_ARGUMENT' })
})

test('a wrong password is told, and not repeated', async () => {
  const error: unknown = await clientOf({ user: 'ann', password: 'guess-guess' })
    .put({ key: b('ann/k') })
    .catch((e: unknown) => e)
  expect(error).toMatchObject({ statusName: 'INVALID_ARGUMENT', mayHaveApplied: false })
  expect(String((error as Error).stack)).not.toContain('guess-guess')
})

test('an expired token is renewed: calls, leases, a new watch on an old stream', async () => {
  const ann = clientOf({ user: 'ann', password: 'secret-of-ann' })
  const seen = new Recorder()
  await ann.watch(b('ann/old'), {}, seen)
  await untilTokenExpired()
  await Promise.all(Array.from({ length: 10 }, (_, i) => ann.put({ key: b(`ann/${i}`) })))
  await untilTokenExpired()
  // The stream still carries the first token; etcd 3.4 says "permission denied" to whatever is asked on it.
  const fresh = new Recorder()
  await ann.watch(b('ann/new'), {}, fresh)
  await ann.put({ key: b('ann/old'), value: b('x') })
  await ann.put({ key: b('ann/new'), value: b('y') })
  await Promise.all([seen.count(1), fresh.count(1)])
  expect([...seen.told, ...fresh.told]).toEqual(['put ann/old=x', 'put ann/new=y'])
})

test('a hold and a waiter outlive their tokens: renewed, told, given back', async () => {
  const { endpoints } = cluster
  const open = async (): Promise<Holdfast> => {
    const hf = makeInstance(await etcd({ endpoints, user: 'ann', password: 'secret-of-ann', prefix: 'ann' }), {})
    onTestFinished(() => hf.close())
    return hf
  }
  const [one, other] = [await open(), await open()]
  const held = await one.mutex('m', { ttlMs: 10_000 }).acquire()
  const next = other.mutex('m', { ttlMs: 60_000 }).acquire()
  await untilTokenExpired()
  const leftMs = held.remainingMs
  await expect.poll(() => held.remainingMs, { timeout: 30_000 }).toBeGreaterThan(leftMs)
  expect(await held.release()).toBe(true)
  expect(await (await next).release()).toBe(true)
})

test('a watch without permission is refused, and the other watchers stay', async () => {
  const ann = clientOf({ user: 'ann', password: 'secret-of-ann' })
  const seen = new Recorder()
  await ann.watch(b('ann/mine'), {}, seen)
  const refused = await ann.watch(b('bob/his'), {}, new Recorder()).catch((e: unknown) => e)
  expect(refused).toBeInstanceOf(EtcdWatchCancelledError)
  expect((refused as Error).message).toContain('permission denied')
  await ann.put({ key: b('ann/mine') })
  await seen.count(1)
})

test('a server that restarts has forgotten all tokens: renewed', async () => {
  const ann = clientOf({ user: 'ann', password: 'secret-of-ann' })
  const seen = new Recorder()
  await ann.watch(b('ann/restart'), {}, seen)
  await cluster.first.kill()
  await cluster.first.start()
  await ann.put({ key: b('ann/restart'), value: b('1') })
  await seen.count(1)
})
