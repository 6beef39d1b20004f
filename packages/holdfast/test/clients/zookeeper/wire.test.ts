/** The client on a wire that misbehaves: split, cut, misnumbered, oversized. */
import { afterEach, expect, test } from 'vitest'
import { isZooKeeperError, ZooKeeperUnreachableError } from '../../../src/clients/zookeeper/index.ts'
import type { JuteWriter } from '../../../src/clients/zookeeper/jute.ts'
import { Op } from '../../../src/clients/zookeeper/protocol.ts'
import { answer, clientOf, closeClients, failure, grant, PASSWORD, Peer, reached, SESSION_ID, stat } from './peer.ts'

afterEach(closeClients)

const path = (writer: JuteWriter): JuteWriter => writer.ustring('/a')

test('answers that arrive byte by byte are read as if they had come whole', async () => {
  await using peer = await Peer.listen()
  const client = clientOf([peer], { sessionTimeoutMs: 20_000 })
  const both = Promise.all([client.create2('/a'), client.getChildren('/')])
  const link = await peer.link()
  const hello = await link.hello()
  expect(hello).toEqual({ lastZxid: 0n, timeoutMs: 20_000, sessionId: 0n, password: '\0'.repeat(16) })
  await link.trickle(grant())
  const [create, list] = [await link.request(), await link.request()]
  expect([create.op, list.op]).toEqual([Op.create2, Op.getChildren2])
  await link.trickle(
    Buffer.concat([
      answer(create.xid, { body: (writer) => stat(writer.ustring('/a')) }),
      answer(list.xid, { body: (writer) => stat(writer.ustrings(['a', 'zookeeper'])) }),
    ]),
  )
  const [created, listed] = await both
  expect(created.path).toBe('/a')
  expect(created.stat.czxid).toBe(2n ** 60n + 1n)
  expect(listed.children).toEqual(['a', 'zookeeper'])
  link.cut()
})

test('requests of one tick leave in one write, also from continuations of answers', async () => {
  await using peer = await Peer.listen()
  const client = clientOf([peer])
  const connected = client.connect()
  const link = await peer.session()
  await connected
  const both = Promise.all([client.create('/a'), client.getChildren('/')])
  const [create, list] = [await link.request(), await link.request()]
  expect(create.chunk).toBe(list.chunk)
  link.send(
    answer(create.xid, { body: (writer) => writer.ustring('/a') }),
    answer(list.xid, { body: (w) => stat(w.int(0)) }),
  )
  await both
  const chains = ['/a', '/b'].map(async (path) => {
    await client.sync(path)
    await client.delete(path)
  })
  const syncs = [await link.request(), await link.request()]
  link.send(...syncs.map(({ xid }) => answer(xid, { body: (writer) => writer.ustring('/') })))
  const deletes = [await link.request(), await link.request()]
  expect(new Set(deletes.map(({ chunk }) => chunk)).size).toBe(1)
  link.send(...deletes.map(({ xid }) => answer(xid)))
  await Promise.all(chains)
  link.cut()
})

test('a cut inside a frame does not shift the next connection, which resumes the session', async () => {
  await using peer = await Peer.listen()
  const client = clientOf([peer])
  const connected = client.connect()
  let link = await peer.session({ timeoutMs: 5_000 })
  await connected
  for (const length of [1, 3, 5, 16, 25]) {
    const lost = failure(client.create('/a'))
    const { xid } = await link.request()
    link.send(answer(xid, { zxid: 99n, body: path }).subarray(0, length))
    await new Promise((resolve) => setImmediate(resolve))
    link.cut()
    const error = await lost
    expect(error).toBeInstanceOf(ZooKeeperUnreachableError)
    expect(error).toMatchObject({ kind: 'ConnectionLoss', errno: -4, sent: true, path: '/a', code: 'HF_UNREACHABLE' })
    const again = client.create('/a')
    link = await peer.link()
    const hello = await link.hello()
    expect(hello).toMatchObject({ lastZxid: length === 1 ? 0n : 77n, sessionId: SESSION_ID, password: PASSWORD })
    link.send(grant({ timeoutMs: 5_000 }))
    link.send(answer((await link.request()).xid, { zxid: 77n, body: path }))
    expect(await again).toBe('/a')
  }
})

test.each([
  ['a reply with a wrong xid', (xid: number) => answer(xid + 1)],
  ['a reply to nothing', () => answer(-4)],
  ['a reply shorter than its header', () => Buffer.from([0, 0, 0, 2, 0, 0])],
  ['a reply that names another node', (xid: number) => answer(xid, { body: (writer) => writer.ustring('/b') })],
  ['a reply whose body is cut short', (xid: number) => answer(xid, { body: (writer) => writer.int(40) })],
  ['an oversize frame', () => Buffer.from([0x00, 0x50, 0, 0, 1])],
  ['something that is not ZooKeeper', () => Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')],
])('%s costs the link; the request is told as of unknown outcome', async (_, bytes) => {
  await using peer = await Peer.listen()
  const client = clientOf([peer])
  const created = failure(client.create('/a'))
  const link = await peer.session()
  const { xid } = await link.request()
  link.send(bytes(xid))
  expect(await created).toMatchObject({ kind: 'ConnectionLoss', sent: true })
  await link.closed
  // And the next link is as good as new.
  const again = client.create('/a')
  const next = await peer.session()
  const request = await next.request()
  next.send(answer(request.xid, { body: (writer) => writer.ustring('/a') }))
  expect(await again).toBe('/a')
  next.cut()
})

test('a frame just within maxFrameBytes is taken, one byte more is not', async () => {
  await using peer = await Peer.listen()
  const client = clientOf([peer], { maxFrameBytes: 2_000 })
  const dataBytes = 2_000 - 16 - 4 - 68
  for (const extra of [0, 1]) {
    const got = client.getData('/a').then(
      ({ data }) => data.length,
      (error: unknown) => isZooKeeperError(error, 'ConnectionLoss'),
    )
    const link = await peer.session()
    const { xid } = await link.request()
    link.send(answer(xid, { body: (writer) => stat(writer.buffer(Buffer.alloc(dataBytes + extra))) }))
    const down = reached(client, 'disconnected')
    expect(await got).toBe(extra === 0 ? dataBytes : true)
    link.cut()
    if (extra === 0) await down
  }
})

test('a server that names another session, or is read-only, is left for the next', async () => {
  await using peer = await Peer.listen()
  const client = clientOf([peer])
  const connected = client.connect()
  const readOnly = await peer.session({ readOnly: true })
  await readOnly.closed
  const first = await peer.session({ sessionId: 1n })
  await connected
  first.cut()
  const other = await peer.session({ sessionId: 2n })
  await other.closed
  const back = new Promise((resolve) => client.onState(resolve))
  const link = await peer.session({ sessionId: 1n })
  expect(await back).toBe('connected')
  expect(client.session?.id).toBe(1n)
  link.cut()
})
