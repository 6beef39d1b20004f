import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { EtcdClient, EtcdUnreachableError, type EtcdTls } from '../../../src/clients/etcd/index.ts'
import { etcd } from '../../../src/stores/etcd/index.ts'
import { makeInstance } from '../../../src/holdfast.ts'
import { requireTools } from '../../../../holdfast-lab/src/testbed/require.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import { Cluster } from './cluster.ts'
import { Recorder } from './record.ts'

const b = (text: string): Buffer => Buffer.from(text)
let bed: Testbed
let cluster: Cluster
let tls: EtcdTls

beforeAll(async () => {
  await requireTools(['certificates'])
  bed = await testbed()
  tls = (await bed.certificate('client')).pem
  cluster = await Cluster.open(1, { tls: await bed.certificate('server') }, bed)
})
afterAll(() => bed?.close())

function clientOf(options: EtcdTls | undefined, timeoutMs = 30_000): EtcdClient {
  const client = new EtcdClient({ endpoints: cluster.endpoints, timeoutMs, ...(options ? { tls: options } : {}) })
  onTestFinished(() => client.close())
  return client
}

test('calls, many at once, keep-alive and watch over TLS with a client certificate', async () => {
  const client = clientOf(tls)
  const seen = new Recorder()
  await client.watch(b('t/'), { rangeEnd: b('t0') }, seen)
  // More than the 250 streams that the server allows at a time.
  await Promise.all(Array.from({ length: 400 }, (_, i) => client.put({ key: b(`t/${i}`) })))
  await seen.count(400)
  const { id } = await client.lease.grant({ ttlS: 30 })
  const ttlS = await new Promise<number>((resolve) => client.keepAlive({ onReply: (r) => resolve(r.ttlS) }).send(id))
  expect(ttlS).toBe(30)
})

test('a server that our authority did not sign for is refused, with the reason', async () => {
  const error: unknown = await clientOf(undefined, 1_000)
    .range({ key: b('k') })
    .catch((e: unknown) => e)
  expect(error).toBeInstanceOf(EtcdUnreachableError)
  expect((error as Error).message).toMatch(/certificate/)
  expect(error).toMatchObject({ mayHaveApplied: false })
})

test('a name that the certificate does not carry is refused', async () => {
  const error: unknown = await clientOf({ ...tls, servername: 'other.example' }, 1_000)
    .range({ key: b('k') })
    .catch((e: unknown) => e)
  expect((error as Error).message).toMatch(/other\.example/)
})

test('a client without a certificate is refused by the server', async () => {
  const { ca } = tls
  const error: unknown = await clientOf({ ca } as EtcdTls, 1_000)
    .range({ key: b('k') })
    .catch((e: unknown) => e)
  expect(error).toBeInstanceOf(EtcdUnreachableError)
})

test('locks over TLS: a waiter of another client is told', async () => {
  const url = `etcds://${cluster.endpoints.map((endpoint) => new URL(endpoint).host).join(',')}`
  const [one, other] = await Promise.all(
    [0, 1].map(async () => makeInstance(await etcd({ url, tls }), { ttlMs: 60_000 })),
  )
  onTestFinished(async () => void (await Promise.all([one?.close(), other?.close()])))
  const held = await one?.mutex('secret').acquire()
  const next = other?.mutex('secret').acquire()
  expect(await other?.mutex('secret').tryAcquire()).toBeNull()
  expect(await held?.release()).toBe(true)
  expect(await (await next)?.release()).toBe(true)
})
