/** Bad input and servers that refuse: told early, with the right class, and with what to do. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { StoreError, StoreUnreachableError, UnsupportedError, UsageError } from '../../../src/contract/errors.ts'
import { digestAcl, openAcl, Perm } from '../../../src/clients/zookeeper/index.ts'
import { zookeeper } from '../../../src/stores/zookeeper/index.ts'
import { holdfast } from '../../../src/open.ts'
import { freePort } from '../../../../holdfast-lab/src/testbed/port.ts'
import { Rig } from './rig.ts'

let rig: Rig

beforeAll(async () => {
  rig = await Rig.open(1)
})

afterEach(() => rig.clear())
afterAll(() => rig?.[Symbol.asyncDispose]())

async function refusal(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise
  } catch (error) {
    if (error instanceof Error) return error
  }
  throw new Error('it was not refused')
}

test('an unreachable server: told within the time given', async () => {
  const error = await refusal(holdfast(`zookeeper://127.0.0.1:${await freePort()}?connectTimeoutMs=300`))
  expect(error).toBeInstanceOf(StoreUnreachableError)
})

test.each([
  'zookeeper:',
  'zookeeper://',
  'zookeeper:///chroot',
  'zookeeper://h:0',
  'zookeeper://h:99999',
  'zookeeper://h/a//b',
  'zookeeper://h/../b',
  'zookeeper://h?nonsense=1',
  'zookeeper://user:sec%ret@h',
])('%s is refused before any I/O', async (url) => {
  const error = await refusal(holdfast(url))
  expect(error).toBeInstanceOf(UsageError)
  expect(error.message).not.toContain('sec%ret')
})

test('options that are none are refused', async () => {
  for (const options of [{}, { servers: [] }, { servers: ['h'], nonsense: 1 }, { servers: ['h'], layout: 'x' }]) {
    expect(await refusal(zookeeper(options as never))).toBeInstanceOf(UsageError)
  }
})

test('an identity that the server refuses is a StoreError at once, without the credential', async () => {
  const identities = [{ scheme: 'nonsense', credential: 'top secret' }]
  const error = await refusal(zookeeper({ servers: rig.addresses, identities }))
  expect(error).toBeInstanceOf(StoreError)
  expect(error).not.toBeInstanceOf(StoreUnreachableError)
  expect(error.message).not.toContain('top secret')
})

test('no permission on the parent: a StoreError that names the node', async () => {
  const client = rig.client()
  await client.create('/guarded', undefined, { acl: [digestAcl('owner', 'pw', Perm.all)] })
  const hf = await rig.holdfast({ chroot: '/guarded' })
  const error = await refusal(hf.mutex('x').acquire())
  expect(error).toBeInstanceOf(StoreError)
  expect(error).not.toBeInstanceOf(StoreUnreachableError)
  expect(error.message).toMatch(/does not permit.*identity/)
  expect(await refusal(hf.mutex('x').tryAcquire())).toBeInstanceOf(StoreError)
  expect(await refusal(hf.cell('x').write(1, 0n))).toBeInstanceOf(StoreError)
})

test('with an identity only it may use the nodes; by URL it is user and password', async () => {
  const [server = ''] = rig.addresses
  const owner = await holdfast(`zookeeper://owner:p%40ss@${server}/private`)
  const held = await owner.mutex('mine').acquire()
  const stranger = await rig.holdfast({ chroot: '/private' })
  expect(await refusal(stranger.mutex('mine').tryAcquire())).toBeInstanceOf(StoreError)
  expect(await refusal(stranger.break('mine', { now: true }))).toBeInstanceOf(StoreError)
  const twin = await rig.holdfast({ chroot: '/private', identities: [{ scheme: 'digest', credential: 'owner:p@ss' }] })
  expect(await twin.mutex('mine').tryAcquire()).toBeNull()
  expect(await held.release()).toBe(true)
  await owner.close()
})

test('an identity with open nodes', async () => {
  const identities = [{ scheme: 'digest', credential: 'a:b' }]
  const [a, b] = [
    await rig.holdfast({ prefix: 'open', identities, acl: openAcl }),
    await rig.holdfast({ prefix: 'open' }),
  ]
  const held = await a.mutex('ours').acquire()
  expect(await b.mutex('ours').tryAcquire()).toBeNull()
  await held.release()
})

test('a ttl outside of what the server grants: the least is told, of the most the granted part counts', async () => {
  // Ticks of 200 ms: sessions of 400 to 4 000 ms.
  const hf = await rig.holdfast()
  expect(hf.traits.ttlMsMin).toBe(600)
  expect(hf.traits.ttlMsMax).toBe(3_000)
  expect(() => hf.mutex('x', { ttlMs: 599 })).toThrow(UsageError)
  const held = await hf.mutex('long', { ttlMs: 3_600_000 }).acquire()
  expect(held.remainingMs).toBeLessThanOrEqual(3_000)
  expect(held.remainingMs).toBeGreaterThan(0)
  await held.release()
})

test('prefixes and chroots are different worlds; a chroot is made if it is missing', async () => {
  const [server = ''] = rig.addresses
  const holds = []
  for (const url of [
    `zookeeper://${server}/new/deep`,
    `zookeeper://${server}`,
    `zookeeper://${server}?prefix=a%2Fb.`,
  ]) {
    const hf = await holdfast(url)
    const held = await hf.mutex('same').tryAcquire()
    expect(held).not.toBeNull()
    holds.push(hf)
  }
  await Promise.all(holds.map((hf) => hf.close()))
})

test('a place that outlives its release is not supported', async () => {
  const driver = await zookeeper({ servers: rig.addresses })
  const entry = { line: 'x', id: '0'.repeat(32), weight: 1, capacity: 1, ttlMs: 1_000, data: '{}' }
  await expect(driver.leave(entry, 100)).rejects.toBeInstanceOf(UnsupportedError)
  await driver.close()
})
