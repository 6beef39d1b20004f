/** A session nobody answers for: the link is left, the deadline is our own, and what waits is told. */
import { afterEach, expect, test } from 'vitest'
import type { ClientState, ZooKeeperClient } from '../../../src/clients/zookeeper/index.ts'
import { Op } from '../../../src/clients/zookeeper/protocol.ts'
import { blockFor } from '../../blocked.ts'
import { answer, clientOf, closeClients, event, failure, grant, Peer, type PeerLink, reached, stat } from './peer.ts'

afterEach(closeClients)

function states(client: ZooKeeperClient): ClientState[] {
  const seen: ClientState[] = []
  client.onState((state) => seen.push(state))
  return seen
}

test('a black hole: disconnected by the read time-out, expired by the local deadline, never answered', async () => {
  await using peer = await Peer.listen()
  const client = clientOf([peer])
  const seen = states(client)
  const told: string[] = []
  const watched = client.getData('/w', { watch: ({ type }) => told.push(type) })
  const link = await peer.session({ timeoutMs: 2_400 })
  const looked = await link.request()
  link.send(answer(looked.xid, { body: (writer) => stat(writer.int(0)) }))
  await watched
  const sent = failure(client.create('/sent'))
  const [silent, expired] = [reached(client, 'disconnected'), reached(client, 'expired')]
  expect((await silent)?.message).toContain('no answer to a heartbeat')
  const deadline = client.session?.deadline ?? 0
  expect(await sent).toMatchObject({ kind: 'ConnectionLoss', sent: true })
  // The peer still takes connections, and says nothing on any of them.
  const queued = failure(client.create('/queued', undefined, { timeoutMs: 30_000 }))
  expect((await expired)?.message).toContain('nobody answered for the session')
  expect(performance.now()).toBeGreaterThanOrEqual(deadline)
  expect(await queued).toMatchObject({ kind: 'SessionExpired', errno: -112, sent: false, path: '/queued' })
  expect(seen).toEqual(['connecting', 'connected', 'disconnected', 'expired'])
  expect(told).toEqual(['lost'])
  expect(client.session).toBeNull()
  expect(await failure(client.create('/late'))).toMatchObject({ kind: 'SessionExpired', sent: false })
})

test('an idle link is pinged, and the answered ping moves the deadline from its own sending', async () => {
  await using peer = await Peer.listen()
  const client = clientOf([peer])
  const connected = client.connect()
  const link = await peer.session({ timeoutMs: 2_100 })
  await connected
  let answered = client.session?.lastAnsweredSentAt ?? 0
  let received = 0
  for (let i = 0; i < 4; i++) {
    const ping = await link.request()
    expect([ping.xid, ping.op]).toEqual([-2, Op.ping])
    // By now the answer to the ping before has been read: the deadline moved, and to no later than that ping's arrival.
    const at = client.session?.lastAnsweredSentAt ?? 0
    if (i > 0) {
      expect(at).toBeGreaterThan(answered)
      expect(at).toBeLessThanOrEqual(received)
    }
    answered = at
    received = performance.now()
    link.send(answer(-2))
  }
  expect(client.state).toBe('connected')
})

test('the deadline counts from the sending of what was answered, not from the answer or from events', async () => {
  await using peer = await Peer.listen()
  let now = 1_000
  const client = clientOf([peer], { now: () => now })
  const connected = client.connect()
  const link = await peer.link()
  await link.hello()
  now = 1_200
  link.send(grant({ timeoutMs: 30_000 }))
  await connected
  expect(client.session).toMatchObject({ negotiatedMs: 30_000, lastAnsweredSentAt: 1_000, deadline: 31_000 })
  now = 2_000
  const deleted = client.delete('/a')
  const request = await link.request()
  now = 9_000
  link.send(event(1, '/a'), answer(request.xid))
  await deleted
  expect(client.session).toMatchObject({ lastAnsweredSentAt: 2_000, deadline: 32_000 })
})

test('a process that was blocked past the read time-out reads what arrived before it judges the link', async () => {
  await using peer = await Peer.listen()
  const client = clientOf([peer])
  const seen = states(client)
  const connected = client.connect()
  const link = await peer.session({ timeoutMs: 3_000 })
  await connected
  expect((await link.request()).op).toBe(Op.ping)
  link.send(answer(-2))
  blockFor(1_200)
  const answered = client.exists('/x')
  let request = await link.request()
  while (request.op === Op.ping) request = await link.request()
  link.send(answer(request.xid, { errno: -101 }))
  expect(await answered).toBeNull()
  expect(seen).toEqual(['connecting', 'connected'])
})

test.each([
  ['ping', Op.ping, [true, true, true, true]],
  ['sync', Op.sync, [false, true, true, true]],
  ['commit', Op.multi, [false, false, true, false]],
] as const)('heartbeat %s: which answers move the deadline', async (heartbeat, op, moves) => {
  await using peer = await Peer.listen()
  let now = 1_000
  const client = clientOf([peer], { heartbeat, now: () => now })
  const connected = client.connect()
  let link = await peer.session({ timeoutMs: 30_000 })
  await connected
  expect(client.session?.lastAnsweredSentAt).toBe(1_000)
  const moved: boolean[] = []
  const refused = async (call: Promise<unknown>): Promise<void> => {
    const before = client.session?.lastAnsweredSentAt
    const outcome = call.then(
      () => undefined,
      () => undefined,
    )
    link.send(answer((await link.request()).xid, { errno: -101 }))
    await outcome
    moved.push(client.session?.lastAnsweredSentAt !== before)
  }
  for (const call of [() => client.exists('/a'), () => client.sync('/a'), () => client.delete('/a')]) {
    now += 1
    await refused(call())
  }
  const before = client.session?.lastAnsweredSentAt
  now += 1
  const up = reached(client, 'connected')
  link.cut()
  link = await peer.session({ timeoutMs: 300 })
  await up
  moved.push(client.session?.lastAnsweredSentAt !== before)
  expect(moved).toEqual(moves)
  // And when nothing proves the session for a third of its time, this does.
  now += 100
  const beat = await link.request()
  expect([beat.xid, beat.op]).toEqual([-2, op])
  now += 50
  link.send(answer(-2))
  const looked = client.exists('/x')
  link.send(answer((await link.request()).xid, { errno: -101 }))
  await looked
  expect(client.session?.lastAnsweredSentAt).toBe(heartbeat === 'ping' ? now : now - 50)
})

test('a clock that jumped past the deadline ends the session, link or no link', async () => {
  await using peer = await Peer.listen()
  let ahead = 0
  const client = clientOf([peer], { now: () => performance.now() + ahead })
  const connected = client.connect()
  await peer.session({ timeoutMs: 900 })
  await connected
  const expired = reached(client, 'expired')
  ahead = 3_600_000
  expect((await expired)?.message).toContain('during its 900 ms')
})

test('expiry by the word of the server: everything fails, and renew opens another session', async () => {
  await using peer = await Peer.listen()
  const client = clientOf([peer])
  const seen = states(client)
  const connected = client.connect()
  const link = await peer.session({ sessionId: 1n })
  await connected
  const lost = failure(client.create('/sent'))
  await link.request()
  const down = reached(client, 'disconnected')
  link.cut()
  await down
  const queued = failure(client.create('/queued'))
  const next = await peer.link()
  expect((await next.hello()).sessionId).toBe(1n)
  next.send(grant({ timeoutMs: 0, sessionId: 0n }))
  expect(await queued).toMatchObject({ kind: 'SessionExpired', sent: false })
  expect(await lost).toMatchObject({ kind: 'ConnectionLoss', sent: true })
  client.renew()
  client.renew()
  const created = client.create('/new')
  const fresh = await peer.link()
  expect((await fresh.hello()).sessionId).toBe(0n)
  fresh.send(grant({ sessionId: 2n }))
  fresh.send(answer((await fresh.request()).xid, { body: (writer) => writer.ustring('/new') }))
  expect(await created).toBe('/new')
  expect(client.session?.id).toBe(2n)
  expect(seen).toEqual(['connecting', 'connected', 'disconnected', 'expired', 'connecting', 'connected'])
})

test('an answer of SessionExpired on a live link ends the session; with renew the next one follows', async () => {
  await using peer = await Peer.listen()
  const client = clientOf([peer], { renew: true })
  const connected = client.connect()
  const link = await peer.session({ sessionId: 1n })
  await connected
  let atOnce: Promise<string> | undefined
  client.onState((state) => {
    if (state === 'expired') atOnce = client.create('/new')
  })
  const both = [failure(client.create('/a')), failure(client.create('/b'))]
  link.send(answer((await link.request()).xid, { errno: -112 }))
  expect(await both[0]).toMatchObject({ kind: 'SessionExpired', code: 'HF_STORE' })
  expect(await both[1]).toMatchObject({ kind: 'SessionExpired', code: 'HF_UNREACHABLE', sent: true })
  const fresh = await peer.session({ sessionId: 2n })
  fresh.send(answer((await fresh.request()).xid, { body: (writer) => writer.ustring('/new') }))
  expect(await atOnce).toBe('/new')
})

test('listeners hear changes in order, also those that a listener brings about', async () => {
  await using peer = await Peer.listen()
  const client = clientOf([peer])
  client.onState((state) => {
    if (state === 'expired') client.renew()
  })
  const seen = states(client)
  const connected = client.connect()
  const link = await peer.session({ sessionId: 1n })
  await connected
  link.cut()
  const next = await peer.link()
  await next.hello()
  const back = reached(client, 'connected')
  next.send(grant({ timeoutMs: 0 }))
  await peer.session({ sessionId: 2n })
  await back
  expect(seen).toEqual(['connecting', 'connected', 'disconnected', 'expired', 'connecting', 'connected'])
})

/** What a server does: it cuts whoever has seen more than it has. Settles with the link that it takes. */
async function takenBy(peer: Peer, lastZxid: bigint): Promise<PeerLink> {
  for (;;) {
    const link = await peer.link()
    const hello = await link.hello()
    if (hello.lastZxid <= lastZxid && hello.sessionId === 0n) return link
    link.cut()
  }
}

test.each([
  ['with a session time of its own', 900],
  ['with one of 24 days', 2 ** 31 - 1],
])(
  'a transaction number from the future %s goes with the session, and keeps nobody out for ever',
  async (_, timeoutMs) => {
    await using peer = await Peer.listen()
    let aheadMs = 0
    const client = clientOf([peer], { renew: true, sessionTimeoutMs: 1_000, now: () => performance.now() + aheadMs })
    const looked = client.sync('/')
    const link = await peer.session({ timeoutMs })
    link.send(answer((await link.request()).xid, { zxid: 2n ** 62n, body: (writer) => writer.ustring('/') }))
    await looked
    // Over after 10 s at most, whatever was granted. Until then no server would have taken it on.
    const expired = reached(client, 'expired')
    aheadMs = 10_000
    await expired
    const again = client.sync('/')
    const next = await takenBy(peer, 5n)
    next.send(grant({ sessionId: 2n }))
    const { xid } = await next.request()
    next.send(answer(xid, { zxid: 5n, body: (writer) => writer.ustring('/') }))
    expect(await again).toBe('/')
    expect([client.session?.id, client.lastZxid]).toEqual([2n, 5n])
  },
)
