import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { EtcdClient, EtcdUnreachableError, type EtcdTls } from '../../../src/drivers/etcd/client/index.ts'
import { etcd } from '../../../src/drivers/etcd/index.ts'
import { makeInstance } from '../../../src/holdfast.ts'
import { type Cluster, startCluster } from './cluster.ts'
import { Recorder } from './record.ts'

const b = (text: string): Buffer => Buffer.from(text)
let folder = ''
let cluster: Cluster
let tls: EtcdTls

async function openssl(...args: string[]): Promise<void> {
  await promisify(execFile)('openssl', args, { cwd: folder })
}

/** A certificate signed by our own authority. */
async function certificate(name: string, extensions: string): Promise<void> {
  await writeFile(join(folder, `${name}.ext`), extensions)
  await openssl(
    'req',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    `${name}.key`,
    '-out',
    `${name}.csr`,
    '-subj',
    `/CN=${name}`,
  )
  const signing = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', `${name}.ext`]
  await openssl('x509', '-req', '-in', `${name}.csr`, '-out', `${name}.pem`, ...signing)
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-tls-'))
  await openssl(
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
    '-days',
    '2',
    '-subj',
    '/CN=ca',
  )
  await certificate('server', 'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth')
  await certificate('client', 'extendedKeyUsage=clientAuth')
  const path = (name: string): string => join(folder, name)
  const [ca, cert, key] = await Promise.all(['ca.pem', 'client.pem', 'client.key'].map((name) => readFile(path(name))))
  tls = { ca, cert, key } as EtcdTls
  const files = ['--cert-file', path('server.pem'), '--key-file', path('server.key')]
  const clients = ['--client-cert-auth', '--trusted-ca-file', path('ca.pem')]
  cluster = await startCluster({ scheme: 'https', flags: [...files, ...clients], client: { tls } })
})
afterAll(async () => {
  await cluster.stop()
  await rm(folder, { recursive: true, force: true })
})

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
