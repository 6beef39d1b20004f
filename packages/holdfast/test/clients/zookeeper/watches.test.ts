/** Watches: told once, armed again after a reconnect with what was seen last, and never silently lost. */
import { afterEach, expect, test } from 'vitest'
import { Chroot } from '../../../src/clients/zookeeper/chroot.ts'
import type { WatchEvent } from '../../../src/clients/zookeeper/index.ts'
import { JuteReader } from '../../../src/clients/zookeeper/jute.ts'
import { Op } from '../../../src/clients/zookeeper/protocol.ts'
import { Watches, type WatchKind } from '../../../src/clients/zookeeper/watches.ts'
import { answer, clientOf, closeClients, event, Peer, reached, stat } from './peer.ts'

afterEach(closeClients)

const [CREATED, DELETED, CHANGED, CHILDREN] = [1, 2, 3, 4]

const callback = (): void => undefined

function thrower(): never {
  throw new Error('from a callback')
}

function fired(kind: WatchKind, at: string, type: number, path: string): string[] {
  const watches = new Watches(new Chroot('/'))
  watches.arm(kind, at, () => undefined)
  const once = watches.fire(type, path).map(([, told]) => told.type)
  const twice = watches.fire(type, path).length
  return twice === 0 ? once : [...once, 'again']
}

test('each kind of watch hears its events, one-shot ones once', () => {
  expect(fired('data', '/a', CHANGED, '/a')).toEqual(['dataChanged'])
  expect(fired('data', '/a', DELETED, '/a')).toEqual(['deleted'])
  expect(fired('data', '/a', CHILDREN, '/a')).toEqual([])
  expect(fired('data', '/a', CHANGED, '/b')).toEqual([])
  expect(fired('exist', '/a', CREATED, '/a')).toEqual(['created'])
  expect(fired('child', '/a', CHILDREN, '/a')).toEqual(['childrenChanged'])
  expect(fired('child', '/a', DELETED, '/a')).toEqual(['deleted'])
  expect(fired('child', '/a', CHANGED, '/a')).toEqual([])
  expect(fired('persistent', '/a', CHILDREN, '/a')).toEqual(['childrenChanged', 'again'])
  expect(fired('persistent', '/a', CREATED, '/a/b')).toEqual([])
  expect(fired('recursive', '/a', CREATED, '/a/b/c')).toEqual(['created', 'again'])
  expect(fired('recursive', '/a', CHANGED, '/a')).toEqual(['dataChanged', 'again'])
  expect(fired('recursive', '/', CREATED, '/a')).toEqual(['created', 'again'])
  expect(fired('recursive', '/', CHANGED, '/')).toEqual(['dataChanged', 'again'])
  expect(fired('recursive', '/a', CHILDREN, '/a')).toEqual([])
  expect(fired('recursive', '/a', CREATED, '/ab')).toEqual([])
  expect(fired('data', '/a', 99, '/a')).toEqual([])
})

test('one callback at several watches of a path is told once of one event', () => {
  const watches = new Watches(new Chroot('/'))
  for (const kind of ['data', 'child', 'persistent'] as const) watches.arm(kind, '/a', callback)
  expect(watches.fire(DELETED, '/a')).toHaveLength(1)
  expect(watches.forget('/a', callback)).toBe(true)
  expect(watches.forget('/a', callback)).toBe(false)
})

test('many watches are armed again in several frames, each well below what a server takes', () => {
  const watches = new Watches(new Chroot('/chroot'))
  const paths = Array.from({ length: 5_000 }, (_, i) => `/line/${'x'.repeat(60)}-${i}`)
  for (const path of paths) watches.arm('data', path, () => undefined)
  const rearmings = watches.rearm(5n)
  expect(rearmings.length).toBeGreaterThan(1)
  const armed = rearmings.flatMap(({ frame }) => {
    expect(frame.length).toBeLessThan(200_000)
    const reader = new JuteReader(frame.subarray(4))
    expect([reader.int(), reader.int(), reader.long()]).toEqual([-8, Op.setWatches, 5n])
    return reader.ustrings()
  })
  expect(armed).toEqual(paths.map((path) => `/chroot${path}`))
})

test('after a cut everything is armed again, before what waits is sent, relative to the last answer', async () => {
  await using peer = await Peer.listen()
  const client = clientOf([peer], { chroot: '/app' })
  const told: WatchEvent[] = []
  const watch = (what: WatchEvent): void => void told.push(what)
  const all = Promise.all([
    client.getData('/data', { watch }),
    client.exists('/absent', { watch }),
    client.getChildren('/', { watch }),
    client.addWatch('/p', watch),
    client.addWatch('/r', watch, { recursive: true }),
    client.getData('/once', { watch }),
  ])
  const link = await peer.session()
  const xids: number[] = []
  for (let i = 0; i < 6; i++) xids.push((await link.request()).xid)
  const [data, absent, children, persistent, recursive, once] = xids as [number, number, number, number, number, number]
  link.send(
    answer(data, { zxid: 10n, body: (writer) => stat(writer.int(0)) }),
    answer(absent, { zxid: 11n, errno: -101 }),
    answer(children, { zxid: 12n, body: (writer) => stat(writer.int(0)) }),
    answer(persistent, { zxid: 12n }),
    answer(recursive, { zxid: 12n }),
    answer(once, { zxid: 13n, body: (writer) => stat(writer.int(0)) }),
    event(CHANGED, '/app/once'),
  )
  await all
  const down = reached(client, 'disconnected')
  link.cut()
  await down
  expect(told.splice(0)).toEqual([{ type: 'dataChanged', path: '/once' }])
  const synced = client.sync('/')
  const next = await peer.session()
  const { op, xid, body } = await next.request()
  expect([op, xid, body.long()]).toEqual([Op.setWatches2, -8, 13n])
  const kinds = [body.ustrings(), body.ustrings(), body.ustrings(), body.ustrings(), body.ustrings()]
  expect(kinds).toEqual([['/app/data'], ['/app/absent'], ['/app'], ['/app/p'], ['/app/r']])
  next.send(answer(-8), event(CREATED, '/app/absent'))
  next.send(answer((await next.request()).xid, { body: (writer) => writer.ustring('/app') }))
  expect(await synced).toBe('/')
  expect(told).toEqual([
    { type: 'gap', path: '/p' },
    { type: 'gap', path: '/r' },
    { type: 'created', path: '/absent' },
  ])
})

test('watches that a server will not arm again are told as lost', async () => {
  await using peer = await Peer.listen()
  const client = clientOf([peer])
  const told = new Promise<WatchEvent>((watch) => void client.exists('/a', { watch }).then(() => undefined))
  const link = await peer.session()
  link.send(answer((await link.request()).xid, { errno: -101 }))
  const synced = client.sync('/')
  await link.request()
  link.cut()
  await expect(synced).rejects.toMatchObject({ sent: true })
  const next = await peer.session()
  expect((await next.request()).op).toBe(Op.setWatches)
  next.send(answer(-8, { errno: -6 }))
  expect(await told).toEqual({ type: 'lost', path: '/a' })
})

test('a callback that throws is an uncaught exception of its own and harms no other', async () => {
  await using peer = await Peer.listen()
  const client = clientOf([peer])
  const heard: string[] = []
  const both = Promise.all([
    client.exists('/a', { watch: thrower }),
    client.exists('/a', { watch: ({ type }) => heard.push(type) }),
  ])
  const link = await peer.session()
  const [first, second] = [await link.request(), await link.request()]
  const before = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  const uncaught = new Promise((resolve) => process.once('uncaughtException', resolve))
  link.send(answer(first.xid, { errno: -101 }), answer(second.xid, { errno: -101 }), event(CREATED, '/a'))
  await both
  expect(String(await uncaught)).toContain('from a callback')
  for (const listener of before) process.on('uncaughtException', listener)
  expect(heard).toEqual(['created'])
  expect(client.state).toBe('connected')
})

test('unwatch forgets a callback without a word to the server', async () => {
  await using peer = await Peer.listen()
  const client = clientOf([peer])
  const heard: string[] = []
  const watch = ({ type }: WatchEvent): void => void heard.push(type)
  const looked = client.exists('/a', { watch })
  const link = await peer.session()
  link.send(answer((await link.request()).xid, { errno: -101 }))
  await looked
  expect(client.unwatch('/a', watch)).toBe(true)
  const synced = client.sync('/')
  const request = await link.request()
  link.send(event(CREATED, '/a'), answer(request.xid, { body: (writer) => writer.ustring('/') }))
  await synced
  expect(heard).toEqual([])
})
