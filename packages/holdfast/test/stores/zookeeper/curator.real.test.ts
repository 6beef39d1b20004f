/** The interop layout against its real counterpart: Apache Curator's InterProcessMutex, run by a few lines of Java. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { UnsupportedError, UsageError } from '../../../src/contract/errors.ts'
import type { Holdfast } from '../../../src/holdfast.ts'
import { requireTools } from '../../../../holdfast-lab/src/testbed/require.ts'
import { Curator, type ForeignPeer } from './foreign.ts'
import { aborted, Rig, until } from './rig.ts'

let rig: Rig
let curator: Curator

beforeAll(async () => {
  await requireTools(['curator'])
  curator = new Curator()
  rig = await Rig.open(1, { tickMs: 500 })
})

const peers: ForeignPeer[] = []

afterEach(async () => {
  await Promise.all(peers.splice(0).map((peer) => peer.kill()))
  await rig.clear()
})

afterAll(async () => {
  await rig?.[Symbol.asyncDispose]()
  curator?.[Symbol.dispose]()
})

async function both(path: string, sessionMs = 10_000): Promise<{ hf: Holdfast; peer: ForeignPeer }> {
  const peer = started(curator.peer({ servers: rig.addresses, path, sessionMs }))
  expect(await peer.says()).toBe('ready')
  return { hf: await rig.holdfast({ layout: 'curator' }), peer }
}

function started(peer: ForeignPeer): ForeignPeer {
  peers.push(peer)
  return peer
}

async function inLine(path: string): Promise<number> {
  return (await rig.client().getChildren(path)).children.length
}

test('each keeps the other out, and is woken when the other leaves', async () => {
  const path = '/locks/stock'
  const { hf, peer } = await both(path)
  const mutex = hf.mutex(path)
  const first = await mutex.acquire()
  expect(await peer.ask('try')).toBe('busy')
  const theirs = peer.ask('acquire')
  await until('Curator stands in line', async () => ((await inLine(path)) === 2 ? true : null))
  await first.release()
  expect(await theirs).toBe('acquired')
  expect(await mutex.tryAcquire()).toBeNull()
  const ours = mutex.acquire()
  await until('we stand in line', async () => ((await inLine(path)) === 2 ? true : null))
  expect(await peer.ask('release')).toBe('released')
  const second = await ours
  expect(second.token).toBeGreaterThan(first.token)
  await second.release()
})

test('first come, first served across both; a dead Curator client frees its place', async () => {
  const path = '/locks/order'
  const { hf, peer } = await both(path, 2_000)
  expect(await peer.ask('acquire')).toBe('acquired')
  const waiting = hf.mutex(path).acquire()
  await until('we stand in line', async () => ((await inLine(path)) === 2 ? true : null))
  await peer.kill()
  const held = await waiting
  for await (const line of hf.list({ prefix: path })) expect(line.holders).toHaveLength(1)
  const token = held.token
  expect(await hf.break(path, { now: true })).toBe(1)
  await aborted(held.signal)
  const next = await hf.mutex(path).acquire()
  expect(next.token).toBeGreaterThan(token)
  await next.release()
})

test("break is Curator's revocation, both ways", async () => {
  const path = '/locks/revoke'
  const { hf, peer } = await both(path)
  expect(await peer.ask('acquire')).toBe('acquired')
  const asked = peer.says()
  expect(await hf.break(path)).toBe(1)
  expect(await asked).toBe('asked to release')
  expect(await peer.ask('release')).toBe('released')
  const held = await hf.mutex(path).acquire()
  const hand = rig.client()
  const [node = ''] = (await hand.getChildren(path)).children
  await hand.setData(`${path}/${node}`, Buffer.from('__REVOKE__'))
  await aborted(held.signal)
})

test('what an InterProcessMutex can not do is refused', async () => {
  const hf = await rig.holdfast({ layout: 'curator' })
  await expect(hf.semaphore('/locks/s', 3).acquire()).rejects.toBeInstanceOf(UnsupportedError)
  await expect(hf.rwLock('/locks/rw').read.acquire()).rejects.toBeInstanceOf(UnsupportedError)
  await expect(hf.mutex('no-path').acquire()).rejects.toBeInstanceOf(UsageError)
  await expect(hf.mutex('/a//b').acquire()).rejects.toBeInstanceOf(UsageError)
})

test.each([
  ['write', '__WRIT__'],
  ['read', '__READ__'],
] as const)(
  "the %s lock of Curator's InterProcessReadWriteLock is refused by its name, and nothing is granted beside it",
  async (kind, name) => {
    const path = `/locks/other-${kind}`
    const other = started(curator.peer({ servers: rig.addresses, path, sessionMs: 10_000 }, kind))
    expect(await other.says()).toBe('ready')
    expect(await other.ask('acquire')).toBe('acquired')
    const hf = await rig.holdfast({ layout: 'curator' })
    const mutex = hf.mutex(path)
    const listed = hf.list({ prefix: path })[Symbol.asyncIterator]()
    for (const ask of [() => mutex.tryAcquire(), () => mutex.acquire(), () => hf.break(path), () => listed.next()]) {
      const refused = await ask().catch((error: unknown) => error)
      expect(refused).toBeInstanceOf(UnsupportedError)
      expect(String(refused)).toContain(name)
    }
    expect(await inLine(path)).toBe(1)
    expect(await other.ask('release')).toBe('released')
    await (await mutex.acquire()).release()
  },
)

test('one that comes while we wait is met before we are granted', async () => {
  const path = '/locks/later'
  const { hf, peer } = await both(path)
  expect(await peer.ask('acquire')).toBe('acquired')
  const waiting = hf.mutex(path).acquire()
  await until('we stand in line', async () => ((await inLine(path)) === 2 ? true : null))
  const refused = expect(waiting).rejects.toThrow('__WRIT__')
  const hand = rig.client()
  await hand.create(`${path}/_c_${'0'.repeat(8)}-__WRIT__`, undefined, { mode: 'ephemeralSequential' })
  expect(await peer.ask('release')).toBe('released')
  await refused
  expect(await inLine(path)).toBe(1)
})

test('a folder below the path of a lock is the path of another, and no stranger', async () => {
  const hf = await rig.holdfast({ layout: 'curator' })
  const [below, above] = [await hf.mutex('/locks/deep/er').acquire(), await hf.mutex('/locks/deep').acquire()]
  await Promise.all([below.release(), above.release()])
  const hand = rig.client()
  for (const folder of ['locks', 'leases']) await hand.create(`/locks/deep/${folder}`)
  // As Curator's semaphores have it: who holds there is seen one level below.
  await expect(hf.mutex('/locks/deep').acquire()).rejects.toThrow('leases')
})
