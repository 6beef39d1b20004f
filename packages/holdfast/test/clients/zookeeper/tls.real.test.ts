/** TLS to a real server: its Netty connector, from Debian's jars, with PEM key stores. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ZooKeeperClient } from '../../../src/drivers/zookeeper/client/index.ts'
import { zookeeper } from '../../../src/drivers/zookeeper/index.ts'
import { makeInstance } from '../../../src/holdfast.ts'
import { holdfast } from '../../../src/open.ts'
import { freePort } from '../../../src/testbed/port.ts'
import { type Ensemble, startEnsemble } from './server.ts'

let folder: string
let ensemble: Ensemble
let server: string

/** A key and a certificate it signed for itself. */
function selfSigned(name: string): { key: Buffer; cert: Buffer } {
  const [key, cert] = [join(folder, `${name}.key`), join(folder, `${name}.crt`)]
  const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1']
  const kind = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2']
  execFileSync('openssl', ['req', ...kind, ...subject, '-keyout', key, '-out', cert], { stdio: 'pipe' })
  return { key: readFileSync(key), cert: readFileSync(cert) }
}

let own: { key: Buffer; cert: Buffer }
let theirs: { key: Buffer; cert: Buffer }

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hf-zk-tls-'))
  own = selfSigned('client')
  theirs = selfSigned('server')
  const [keyStore, trustStore] = [join(folder, 'keystore.pem'), join(folder, 'truststore.pem')]
  writeFileSync(keyStore, Buffer.concat([theirs.key, theirs.cert]))
  writeFileSync(trustStore, own.cert)
  const port = await freePort()
  server = `127.0.0.1:${port}`
  ensemble = await startEnsemble({
    lines: [
      `secureClientPort=${port}`,
      'secureClientPortAddress=127.0.0.1',
      `ssl.keyStore.location=${keyStore}`,
      `ssl.trustStore.location=${trustStore}`,
      'ssl.clientAuth=need',
    ],
    flags: ['-Dzookeeper.serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory'],
  })
})

afterAll(async () => {
  await ensemble?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

test('both sides know each other: a session over TLS', async () => {
  const client = new ZooKeeperClient({ servers: [server], tls: { ...own, ca: theirs.cert } })
  const node = await client.create('/tls-', Buffer.alloc(500_000, 1), { mode: 'ephemeralSequential' })
  const many = await Promise.all(Array.from({ length: 20 }, () => client.getData(node)))
  expect(many.every(({ data }) => data.length === 500_000)).toBe(true)
  expect(await client.close()).toBe(true)
})

test('a server whose certificate nobody vouches for is not talked to', async () => {
  const client = new ZooKeeperClient({ servers: [server], tls: own })
  const error = await client.connect({ timeoutMs: 2_000 }).catch((reason: unknown) => reason)
  expect(error).toMatchObject({ code: 'HF_UNREACHABLE', sent: false })
  expect(String((error as Error).cause)).toContain('self-signed certificate')
  await client.close()
})

test('a client that can show no certificate gets no session, nor does one without TLS', async () => {
  for (const tls of [{ ca: theirs.cert }, false]) {
    const client = new ZooKeeperClient({ servers: [server], tls })
    await expect(client.connect({ timeoutMs: 1_000 })).rejects.toMatchObject({ code: 'HF_UNREACHABLE', sent: false })
    await client.close()
  }
})

test('locks over TLS; by URL the certificates that Node knows count', async () => {
  const hf = makeInstance(await zookeeper({ servers: [server], tls: { ...own, ca: theirs.cert } }), {})
  const held = await hf.mutex('tls').acquire()
  expect(await hf.mutex('tls', { fairness: 'strict' }).tryAcquire()).toBeNull()
  expect(await held.release()).toBe(true)
  await hf.close()
  await expect(holdfast(`zookeepers://${server}?connectTimeoutMs=1000`)).rejects.toMatchObject({
    code: 'HF_UNREACHABLE',
  })
})
