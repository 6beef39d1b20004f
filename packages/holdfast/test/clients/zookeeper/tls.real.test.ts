/** TLS to a real server: its Netty connector, from Debian's jars, with PEM key stores. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ZooKeeperClient } from '../../../src/clients/zookeeper/index.ts'
import { zookeeper } from '../../../src/stores/zookeeper/index.ts'
import { makeInstance } from '../../../src/holdfast.ts'
import { holdfast } from '../../../src/open.ts'
import type { Identity } from '../../../../holdfast-lab/src/testbed/certificates.ts'
import { requireServers, requireTools } from '../../../../holdfast-lab/src/testbed/require.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'

let bed: Testbed
let server: string
/** The client's certificate, and the authority that signed the server's. */
let own: Identity['pem']

beforeAll(async () => {
  await requireServers(['zookeeper'])
  await requireTools(['certificates'])
  bed = await testbed()
  own = (await bed.certificate('client')).pem
  const { servers } = await bed.zookeeper(1, { tickMs: 500, tls: await bed.certificate('server') })
  server = `127.0.0.1:${servers[0]?.port}`
})

afterAll(() => bed?.close())

test('both sides know each other: a session over TLS', async () => {
  const client = new ZooKeeperClient({ servers: [server], tls: own })
  const node = await client.create('/tls-', Buffer.alloc(500_000, 1), { mode: 'ephemeralSequential' })
  const many = await Promise.all(Array.from({ length: 20 }, () => client.getData(node)))
  expect(many.every(({ data }) => data.length === 500_000)).toBe(true)
  expect(await client.close()).toBe(true)
})

test('a server whose certificate nobody vouches for is not talked to', async () => {
  const { cert, key } = own
  const client = new ZooKeeperClient({ servers: [server], tls: { cert, key } })
  const error = await client.connect({ timeoutMs: 2_000 }).catch((reason: unknown) => reason)
  expect(error).toMatchObject({ code: 'HF_UNREACHABLE', sent: false })
  expect(String((error as Error).cause)).toMatch(/unable to verify the first certificate|self-signed certificate/)
  await client.close()
})

test('a client that can show no certificate gets no session, nor does one without TLS', async () => {
  for (const tls of [{ ca: own.ca }, false]) {
    const client = new ZooKeeperClient({ servers: [server], tls })
    await expect(client.connect({ timeoutMs: 1_000 })).rejects.toMatchObject({ code: 'HF_UNREACHABLE', sent: false })
    await client.close()
  }
})

test('locks over TLS; by URL the certificates that Node knows count', async () => {
  const hf = makeInstance(await zookeeper({ servers: [server], tls: own }), {})
  const held = await hf.mutex('tls').acquire()
  expect(await hf.mutex('tls', { fairness: 'strict' }).tryAcquire()).toBeNull()
  expect(await held.release()).toBe(true)
  await hf.close()
  await expect(holdfast(`zookeepers://${server}?connectTimeoutMs=1000`)).rejects.toMatchObject({
    code: 'HF_UNREACHABLE',
  })
})
