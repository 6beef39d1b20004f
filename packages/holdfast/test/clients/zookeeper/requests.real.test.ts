/** Every request against a real server. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  creatorAllAcl,
  digestAcl,
  isZooKeeperError,
  Perm,
  type WatchEvent,
  ZooKeeperClient,
  type ZooKeeperErrorKind,
} from '../../../src/clients/zookeeper/index.ts'
import { Rig } from '../../stores/zookeeper/rig.ts'

let ensemble: Rig
let client: ZooKeeperClient

beforeAll(async () => {
  // Containers and ttl nodes are looked after once a minute by default.
  ensemble = await Rig.open(1, { tickMs: 500, flags: ['-Dznode.container.checkIntervalMs=200'] })
  client = new ZooKeeperClient({ servers: ensemble.addresses, sessionTimeoutMs: 10_000 })
})

afterAll(async () => {
  await client?.close()
  await ensemble?.[Symbol.asyncDispose]()
})

async function kindOf(promise: Promise<unknown>): Promise<ZooKeeperErrorKind | 'none' | 'other'> {
  return promise.then(
    () => 'none',
    (error: unknown) => (isZooKeeperError(error) ? error.kind : 'other'),
  )
}

function inbox(): { told: WatchEvent[]; watch: (event: WatchEvent) => void } {
  const told: WatchEvent[] = []
  return { told, watch: (event) => told.push(event) }
}

const bytes = (text: string): Buffer => Buffer.from(text)

test('create, read, write, delete, with versions', async () => {
  expect(await client.create('/crud', bytes('one'))).toBe('/crud')
  expect(await kindOf(client.create('/crud'))).toBe('NodeExists')
  const { data, stat } = await client.getData('/crud')
  expect([data.toString(), stat.version, stat.ephemeralOwner]).toEqual(['one', 0, 0n])
  expect(stat.czxid).toBe(stat.mzxid)
  expect(await kindOf(client.setData('/crud', bytes('x'), 7))).toBe('BadVersion')
  const written = await client.setData('/crud', bytes('two'), 0)
  expect([written.version, written.dataLength, written.mzxid > stat.mzxid]).toEqual([1, 3, true])
  await client.create('/crud/child')
  expect(await kindOf(client.delete('/crud'))).toBe('NotEmpty')
  expect((await client.getChildren('/crud')).children).toEqual(['child'])
  await client.delete('/crud/child')
  expect(await kindOf(client.delete('/crud', 0))).toBe('BadVersion')
  await client.delete('/crud', 1)
  expect(await client.exists('/crud')).toBeNull()
  expect(await kindOf(client.getData('/crud'))).toBe('NoNode')
  expect(await kindOf(client.create('/crud/child'))).toBe('NoNode')
  expect(client.lastZxid).toBeGreaterThanOrEqual(written.mzxid)
})

test('empty data, a megabyte less a little, and names beyond ASCII round-trip', async () => {
  await client.create('/größe ✓', Buffer.alloc(1_000_000, 7))
  const { data } = await client.getData('/größe ✓')
  expect(data.equals(Buffer.alloc(1_000_000, 7))).toBe(true)
  await client.setData('/größe ✓', new Uint8Array(0))
  expect((await client.getData('/größe ✓')).data.length).toBe(0)
  expect((await client.getChildren('/')).children).toContain('größe ✓')
  await client.delete('/größe ✓')
})

test('ephemeral and sequential nodes: numbered, owned by the session, gone with it', async () => {
  await client.create('/line')
  const other = new ZooKeeperClient({ servers: ensemble.addresses })
  const places = await Promise.all(
    Array.from({ length: 20 }, (_, i) => other.create2('/line/p-', bytes(String(i)), { mode: 'ephemeralSequential' })),
  )
  expect(places.map(({ path }) => path)).toEqual(places.map((_, i) => `/line/p-${String(i).padStart(10, '0')}`))
  for (const { stat } of places) expect(stat.ephemeralOwner).toBe(other.session?.id)
  const czxids = places.map(({ stat }) => stat.czxid)
  expect(czxids).toEqual(czxids.toSorted((a, b) => (a < b ? -1 : 1)))
  expect(await kindOf(other.create(`${places[0]?.path}/child`))).toBe('NoChildrenForEphemerals')
  expect(await client.create('/line/', undefined, { mode: 'persistentSequential' })).toBe('/line/0000000020')
  expect(await other.close()).toBe(true)
  expect((await client.getChildren('/line')).children).toEqual(['0000000020'])
})

test('create and list in one tick: the list sees the create', async () => {
  await client.create('/pipe')
  const [path, { children }] = await Promise.all([
    client.create('/pipe/n-', undefined, { mode: 'ephemeralSequential' }),
    client.getChildren('/pipe'),
  ])
  expect(children.map((name) => `/pipe/${name}`)).toEqual([path])
})

test('container and ttl nodes, with and without Stat, are deleted by the server when their time has come', async () => {
  expect(await client.create('/container', undefined, { mode: 'container' })).toBe('/container')
  const { path, stat } = await client.create2('/container/ttl-', undefined, { mode: 'ttlSequential', ttlMs: 1 })
  expect(path).toBe('/container/ttl-0000000000')
  expect([stat.version, stat.ephemeralOwner]).toEqual([0, 0n])
  const gone = new Promise<WatchEvent>((watch) => void client.exists('/container', { watch }).then(() => undefined))
  expect(await gone).toEqual({ type: 'deleted', path: '/container' })
  expect(await client.exists(path)).toBeNull()
  expect((await client.create2('/container', undefined, { mode: 'container' })).stat.version).toBe(0)
})

test('multi: all of it, or nothing and the culprit', async () => {
  await client.create('/multi', bytes('0'))
  const results = await client.multi([
    { op: 'check', path: '/multi', version: 0 },
    { op: 'create', path: '/multi/a-', mode: 'ephemeralSequential', data: bytes('a') },
    { op: 'create', path: '/multi/c', mode: 'container' },
    { op: 'create', path: '/multi/t', mode: 'ttl', ttlMs: 60_000 },
    { op: 'setData', path: '/multi', data: bytes('1'), version: 0 },
    { op: 'delete', path: '/multi/c' },
  ])
  expect(results.map(({ path }) => path)).toEqual([
    undefined,
    '/multi/a-0000000000',
    '/multi/c',
    '/multi/t',
    undefined,
    undefined,
  ])
  expect(results[4]?.stat?.version).toBe(1)
  const failed = client.multi([
    { op: 'create', path: '/multi/never' },
    { op: 'setData', path: '/multi', data: bytes('2') },
    { op: 'check', path: '/multi', version: 0 },
    { op: 'create', path: '/multi/neither' },
  ])
  await expect(failed).rejects.toMatchObject({ kind: 'BadVersion', errno: -103, path: '/multi', index: 2 })
  expect((await client.getChildren('/multi')).children.toSorted()).toEqual(['a-0000000000', 't'])
  expect((await client.getData('/multi')).data.toString()).toBe('1')
})

test('one-shot watches are told once, of what they were set for', async () => {
  const other = new ZooKeeperClient({ servers: ensemble.addresses })
  const [created, changed, deleted, children] = [inbox(), inbox(), inbox(), inbox()]
  expect(await client.exists('/w', { watch: created.watch })).toBeNull()
  await other.create('/w', bytes('1'))
  await client.sync('/w')
  await client.getData('/w', { watch: changed.watch })
  await client.getChildren('/w', { watch: children.watch })
  await other.setData('/w', bytes('2'))
  await other.setData('/w', bytes('3'))
  await other.create('/w/c')
  await client.sync('/w')
  await client.exists('/w/c', { watch: deleted.watch })
  await other.delete('/w/c')
  await client.sync('/w')
  expect(created.told).toEqual([{ type: 'created', path: '/w' }])
  expect(changed.told).toEqual([{ type: 'dataChanged', path: '/w' }])
  expect(children.told).toEqual([{ type: 'childrenChanged', path: '/w' }])
  expect(deleted.told).toEqual([{ type: 'deleted', path: '/w/c' }])
  await other.close()
})

test('persistent and recursive watches are told until they are removed', async () => {
  const told: string[] = []
  await client.create('/pw')
  await client.addWatch('/pw', ({ type, path }) => told.push(`p ${type} ${path}`))
  await client.addWatch('/pw/r', ({ type, path }) => told.push(`r ${type} ${path}`), { recursive: true })
  await client.create('/pw/r')
  await client.create('/pw/r/a')
  await client.setData('/pw/r/a', bytes('1'))
  await client.setData('/pw', bytes('1'))
  await client.setData('/pw', bytes('2'))
  expect(told.splice(0).toSorted()).toEqual([
    'p childrenChanged /pw',
    'p dataChanged /pw',
    'p dataChanged /pw',
    'r created /pw/r',
    'r created /pw/r/a',
    'r dataChanged /pw/r/a',
  ])
  await client.removeWatches('/pw')
  await client.removeWatches('/pw/r')
  await client.setData('/pw', bytes('3'))
  await client.delete('/pw/r/a')
  await client.sync('/pw')
  expect(told).toEqual([])
  expect(await kindOf(client.removeWatches('/pw'))).toBe('NoWatcher')
})

test('a chroot is made, confines and is invisible', async () => {
  const inside = new ZooKeeperClient({ servers: ensemble.addresses, chroot: '/deep/er' })
  expect(await inside.exists('/')).toBeNull()
  await inside.ensureChroot()
  await inside.ensureChroot()
  expect(await inside.create('/x', bytes('in'))).toBe('/x')
  expect(await inside.create('/s-', undefined, { mode: 'ephemeralSequential' })).toBe('/s-0000000001')
  expect((await inside.getChildren('/')).children.toSorted()).toEqual(['s-0000000001', 'x'])
  expect((await client.getData('/deep/er/x')).data.toString()).toBe('in')
  const told = new Promise<WatchEvent>((watch) => void inside.getChildren('/', { watch }).then(() => undefined))
  await inside.sync('/')
  expect((await inside.multi([{ op: 'create', path: '/y' }]))[0]?.path).toBe('/y')
  expect(await told).toEqual({ type: 'childrenChanged', path: '/' })
  await expect(inside.delete('/none')).rejects.toMatchObject({ kind: 'NoNode', path: '/none' })
  await inside.close()
})

test('digest: what its creator may, others may not', async () => {
  const ann = new ZooKeeperClient({
    servers: ensemble.addresses,
    identities: [{ scheme: 'digest', credential: 'ann:secret' }],
  })
  await ann.create('/ann', bytes('mine'), { acl: creatorAllAcl })
  await ann.create('/shared', bytes('ours'), { acl: [digestAcl('ann', 'secret'), digestAcl('bob', 'pw', Perm.read)] })
  expect((await ann.getData('/ann')).data.toString()).toBe('mine')
  expect(await kindOf(client.getData('/ann'))).toBe('NoAuth')
  expect(await kindOf(client.setData('/ann', bytes('no')))).toBe('NoAuth')
  expect(await kindOf(client.create('/ann/x'))).toBe('NoAuth')
  const bob = new ZooKeeperClient({ servers: ensemble.addresses })
  expect(await kindOf(bob.getData('/shared'))).toBe('NoAuth')
  await bob.auth('digest', 'bob:wrong')
  expect(await kindOf(bob.getData('/shared'))).toBe('NoAuth')
  await bob.auth('digest', 'bob:pw')
  expect((await bob.getData('/shared')).data.toString()).toBe('ours')
  expect(await kindOf(bob.setData('/shared', bytes('no')))).toBe('NoAuth')
  await Promise.all([ann.close(), bob.close()])
})

test('a scheme the server does not know ends the client', async () => {
  const stranger = new ZooKeeperClient({ servers: ensemble.addresses })
  await expect(stranger.auth('no-such-scheme', 'secret')).rejects.toMatchObject({ kind: 'AuthFailed' })
  expect(stranger.state).toBe('authFailed')
  expect(await kindOf(stranger.exists('/'))).toBe('AuthFailed')
  await stranger.close()
})

test('the session time is the one the server grants', async () => {
  const [hasty, patient] = [1, 2 ** 31 - 1].map(
    (sessionTimeoutMs) => new ZooKeeperClient({ servers: ensemble.addresses, sessionTimeoutMs }),
  ) as [ZooKeeperClient, ZooKeeperClient]
  await Promise.all([hasty.connect(), patient.connect()])
  expect([hasty.session?.negotiatedMs, patient.session?.negotiatedMs]).toEqual([1_000, 10_000])
  await Promise.all([hasty.close(), patient.close()])
})
