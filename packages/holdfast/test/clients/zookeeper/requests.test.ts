/**
 * What becomes of requests when servers are gone, slow or silent: every promise settles, and says whether it was sent.
 */
import { inspect } from 'node:util'
import { afterEach, expect, test } from 'vitest'
import { ClosedError, UsageError } from '../../../src/contract/errors.ts'
import { Op } from '../../../src/clients/zookeeper/protocol.ts'
import { answer, clientOf, closeClients, failure, Peer, reached } from './peer.ts'

afterEach(closeClients)

test('with no server to reach, a request rejects at its deadline as not sent and names the reason', async () => {
  const peer = await Peer.listen()
  const client = clientOf([peer])
  await peer[Symbol.asyncDispose]()
  const error = await failure(client.create('/a', undefined, { timeoutMs: 200 }))
  expect(error).toMatchObject({ kind: 'OperationTimeout', sent: false, path: '/a', code: 'HF_UNREACHABLE' })
  expect(String((error as Error).cause)).toContain('ECONNREFUSED')
  const unreached = await failure(client.connect({ timeoutMs: 50 }))
  expect(unreached).toMatchObject({ kind: 'ConnectionLoss', sent: false })
  expect(String((unreached as Error).cause)).toContain('ECONNREFUSED')
})

test('a server gone mid-request: all that was sent is told as of unknown outcome, in one go', async () => {
  await using peer = await Peer.listen()
  const client = clientOf([peer])
  const requests = [client.create('/a'), client.delete('/b'), client.multi([{ op: 'check', path: '/c' }])].map(failure)
  const link = await peer.session()
  await link.request()
  link.cut()
  for (const error of await Promise.all(requests)) expect(error).toMatchObject({ kind: 'ConnectionLoss', sent: true })
})

test('what was not sent waits for the next server and is sent once', async () => {
  await using gone = await Peer.listen()
  await using alive = await Peer.listen()
  const client = clientOf([gone, alive], { random: () => 0.99 })
  const connected = client.connect()
  const first = await gone.session({ sessionId: 1n })
  await connected
  const down = reached(client, 'disconnected')
  gone.refuse()
  first.cut()
  await down
  const created = client.create('/a')
  const link = await alive.session({ sessionId: 1n })
  const request = await link.request()
  expect(request.op).toBe(Op.create)
  link.send(answer(request.xid, { body: (writer) => writer.ustring('/a') }))
  expect(await created).toBe('/a')
})

test('a server that takes connections and says nothing is left for the next one', async () => {
  await using silent = await Peer.listen()
  await using alive = await Peer.listen()
  const client = clientOf([silent, alive], { random: () => 0.99, sessionTimeoutMs: 900 })
  const connected = client.connect()
  const hole = await silent.link()
  await hole.closed
  await alive.session()
  await connected
})

test('a sent request that times out keeps its turn: its late answer is dropped, the next gets its own', async () => {
  await using peer = await Peer.listen()
  const client = clientOf([peer])
  const connected = client.connect()
  const link = await peer.session()
  await connected
  const slow = client.create('/slow', undefined, { timeoutMs: 50 })
  const late = await link.request()
  expect(await failure(slow)).toMatchObject({ kind: 'OperationTimeout', errno: -7, sent: true, path: '/slow' })
  const created = client.create('/next')
  const request = await link.request()
  link.send(answer(late.xid, { body: (writer) => writer.ustring('/slow') }))
  link.send(answer(request.xid, { body: (writer) => writer.ustring('/next') }))
  expect(await created).toBe('/next')
})

test("the server's errors carry kind, number and path", async () => {
  await using peer = await Peer.listen()
  const client = clientOf([peer], { chroot: '/app' })
  const link = peer.session()
  for (const [errno, kind] of [
    [-101, 'NoNode'],
    [-110, 'NodeExists'],
    [-103, 'BadVersion'],
    [-111, 'NotEmpty'],
    [-102, 'NoAuth'],
    [-999, 'Unknown'],
  ] as const) {
    const error = failure(client.delete('/a'))
    const request = await (await link).request()
    expect(request.body.ustring()).toBe('/app/a')
    ;(await link).send(answer(request.xid, { errno }))
    expect(await error).toMatchObject({ name: 'ZooKeeperError', code: 'HF_STORE', kind, errno, path: '/a', sent: true })
  }
})

test('close ends the session in its turn, settles what waits, and refuses what comes later', async () => {
  await using peer = await Peer.listen()
  const client = clientOf([peer])
  const created = client.create('/a')
  const link = await peer.session()
  const first = await link.request()
  const closed = client.close()
  expect(client.close()).toBe(closed)
  const last = await link.request()
  expect(last.op).toBe(Op.closeSession)
  link.send(answer(first.xid, { body: (writer) => writer.ustring('/a') }), answer(last.xid))
  expect(await created).toBe('/a')
  expect(await closed).toBe(true)
  await link.closed
  expect(client.state).toBe('closed')
  expect(await failure(client.create('/b'))).toBeInstanceOf(ClosedError)
  expect(await failure(client.connect())).toBeInstanceOf(ClosedError)
})

test('close without a server settles everything and says that nobody confirmed', async () => {
  const peer = await Peer.listen()
  const client = clientOf([peer])
  const connected = client.connect()
  await peer.session()
  await connected
  const down = reached(client, 'disconnected')
  await peer[Symbol.asyncDispose]()
  await down
  const queued = failure(client.create('/a'))
  expect(await client.close({ timeoutMs: 100 })).toBe(false)
  expect(await queued).toBeInstanceOf(ClosedError)
})

test('close of a client that never did anything, or never reached anybody, is immediate', async () => {
  await using peer = await Peer.listen()
  expect(await clientOf([peer]).close()).toBe(false)
  const client = clientOf([peer])
  const queued = failure(client.create('/a'))
  await peer.link()
  expect(await client.close()).toBe(false)
  expect(await queued).toBeInstanceOf(ClosedError)
})

test('identities are given first on every connection; a refusal is final and names no password', async () => {
  await using peer = await Peer.listen()
  const client = clientOf([peer], { identities: [{ scheme: 'digest', credential: 'ann:s3cret' }] })
  const added = client.auth('digest', 'bob:hunter2')
  const first = await peer.session()
  const seen = [await first.request(), await first.request(), await first.request()]
  expect(seen.map(({ xid, op }) => `${xid} ${op}`)).toEqual(Array(3).fill(`-4 ${Op.auth}`))
  first.send(answer(-4), answer(-4), answer(-4))
  await added
  const down = reached(client, 'disconnected')
  first.cut()
  await down
  const queued = failure(client.create('/a'))
  const again = await peer.session()
  const credentials: string[] = []
  for (let i = 0; i < 2; i++) {
    const { body } = await again.request()
    body.int()
    credentials.push(`${body.ustring()} ${body.buffer().toString()}`)
  }
  expect(credentials).toEqual(['digest ann:s3cret', 'digest bob:hunter2'])
  await again.request()
  again.send(answer(-4), answer(-4, { errno: -115 }))
  const errors = [await queued, await failure(client.create('/b')), await failure(client.connect())]
  expect(errors[0]).toMatchObject({ kind: 'AuthFailed', sent: true })
  expect(errors[1]).toMatchObject({ kind: 'AuthFailed', sent: false })
  expect(client.state).toBe('authFailed')
  for (const error of [...errors, client])
    expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/s3cret|hunter2/)
})

test('a request too large for any server is refused before it costs the link', async () => {
  await using peer = await Peer.listen()
  const client = clientOf([peer])
  expect(await failure(client.setData('/a', Buffer.alloc(1_048_576)))).toBeInstanceOf(UsageError)
  expect(client.state).toBe('idle')
})

test.each([
  ['', 'a', 'a/b', '/a/', '//', '/a//b', '/.', '/a/..', '/a/./b', '/\0', '/\u0007', '/\ud83d\ude00', '/\ufff0'],
])('bad paths are refused before any I/O', async (...paths) => {
  await using peer = await Peer.listen()
  const client = clientOf([peer])
  for (const path of paths) {
    expect(await failure(client.exists(path)), path).toBeInstanceOf(UsageError)
    expect(await failure(client.multi([{ op: 'delete', path }])), path).toBeInstanceOf(UsageError)
  }
  expect(client.state).toBe('idle')
})

test('bad options are refused, without the credential', () => {
  const bad: object[] = [
    { servers: [] },
    { servers: ['h:0'] },
    { servers: ['h:1:2'] },
    { servers: ['http://h'] },
    { chroot: 'x' },
    { sessionTimeoutMs: 0 },
    { requestTimeoutMs: 1.5 },
    { maxFrameBytes: 10 },
    { identities: [{ scheme: '', credential: 'ann:s3cret' }] },
    { tls: { key: 'not a key' } },
  ]
  for (const options of bad) {
    expect(() => clientOf([], { servers: ['h'], ...options }), inspect(options)).toThrow(UsageError)
    expect(() => clientOf([], { servers: ['h'], ...options })).not.toThrow(/s3cret/)
  }
})

test('bad arguments reject, they do not throw', async () => {
  await using peer = await Peer.listen()
  const client = clientOf([peer])
  const calls = [
    client.create('/a', undefined, { mode: 'ttl' }),
    client.create('/a', undefined, { ttlMs: 5 }),
    client.create('/a', undefined, { mode: 'ttl', ttlMs: 0 }),
    client.create('/a', undefined, { timeoutMs: 0 }),
    client.create('/a', undefined, { mode: 'other' as 'ttl' }),
    client.multi([]),
    client.auth('', 'x'),
    client.connect({ timeoutMs: -1 }),
  ]
  for (const call of calls) expect(await failure(call)).toBeInstanceOf(UsageError)
})
