/** The layout of Curator beside the locks of kazoo, the Python client: a real one, in a process of its own. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { UnsupportedError } from '../../../src/contract/errors.ts'
import type { Holdfast } from '../../../src/holdfast.ts'
import { requireTools } from '../../../../holdfast-lab/src/testbed/require.ts'
import { type ForeignPeer, kazoo } from './foreign.ts'
import { aborted, Rig, until } from './rig.ts'

let rig: Rig
const peers: ForeignPeer[] = []

beforeAll(async () => {
  await requireTools(['kazoo'])
  rig = await Rig.open(1, { tickMs: 500 })
})

afterEach(async () => {
  await Promise.all(peers.splice(0).map((peer) => peer.kill()))
  await rig.clear()
})

afterAll(() => rig?.[Symbol.asyncDispose]())

async function both(
  path: string,
  kind: 'lock' | 'read' | 'semaphore' = 'lock',
  sessionMs = 10_000,
): Promise<{ hf: Holdfast; peer: ForeignPeer }> {
  const peer = kazoo({ servers: rig.addresses, path, sessionMs }, kind)
  peers.push(peer)
  expect(await peer.says()).toBe('ready')
  return { hf: await rig.holdfast({ layout: 'curator' }), peer }
}

async function inLine(path: string): Promise<number> {
  return (await rig.client().getChildren(path)).children.length
}

test('each keeps the other out, in one order, and is woken when the other leaves', async () => {
  const path = '/locks/stock'
  const { hf, peer } = await both(path)
  const mutex = hf.mutex(path)
  expect(await peer.ask('acquire')).toBe('acquired')
  expect(await mutex.tryAcquire()).toBeNull()
  const ours = mutex.acquire()
  await until('we stand in line', async () => ((await inLine(path)) === 2 ? true : null))
  expect(await peer.ask('release')).toBe('released')
  const held = await ours
  expect(await peer.ask('try')).toBe('busy')
  const theirs = peer.ask('acquire')
  await until('kazoo stands in line', async () => ((await inLine(path)) === 2 ? true : null))
  // Of another instance: one of ours would be handed the place, ahead of kazoo.
  const other = await rig.holdfast({ layout: 'curator' })
  const behind = other.mutex(path).acquire()
  await until('all stand in line', async () => ((await inLine(path)) === 3 ? true : null))
  await held.release()
  expect(await theirs).toBe('acquired')
  expect(await mutex.tryAcquire()).toBeNull()
  expect(await peer.ask('release')).toBe('released')
  const last = await behind
  expect(last.token).toBeGreaterThan(held.token)
  await last.release()
})

test('a dead kazoo client frees its place', async () => {
  const path = '/locks/dead'
  const { hf, peer } = await both(path, 'lock', 2_000)
  expect(await peer.ask('acquire')).toBe('acquired')
  const waiting = hf.mutex(path).acquire()
  await until('we stand in line', async () => ((await inLine(path)) === 2 ? true : null))
  await peer.kill()
  await (await waiting).release()
})

test('kazoo can not be asked to give a lock up, only made to', async () => {
  const path = '/locks/break'
  const { hf, peer } = await both(path)
  expect(await peer.ask('acquire')).toBe('acquired')
  for await (const line of hf.list({ prefix: path })) expect(line.holders).toHaveLength(1)
  await expect(hf.break(path)).rejects.toThrow(UnsupportedError)
  expect(await hf.mutex(path).tryAcquire()).toBeNull()
  expect(await hf.break(path, { now: true })).toBe(1)
  const held = await hf.mutex(path).acquire()
  expect(await hf.break(path)).toBe(1)
  await aborted(held.signal)
})

test.each([
  ['read', '__rlock__'],
  ['semaphore', ''],
] as const)('a %s lock of kazoo is refused by its name, and nothing is granted beside it', async (kind, name) => {
  const path = `/locks/${kind}`
  const { hf, peer } = await both(path, kind)
  expect(await peer.ask('acquire')).toBe('acquired')
  const { children } = await rig.client().getChildren(path)
  const stranger = children.find((child) => child !== '__lock__' && child.includes(name)) ?? 'none'
  for (const ask of [() => hf.mutex(path).tryAcquire(), () => hf.mutex(path).acquire()]) {
    const refused = await ask().catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(UnsupportedError)
    expect(String(refused)).toContain(stranger)
  }
  expect(await peer.ask('release')).toBe('released')
  await (await hf.mutex(path).acquire()).release()
})
