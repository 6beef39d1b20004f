/** A place is taken without a list where nobody else stands: what that answer says must be true. */
import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Entry, isGranted } from '../../../src/contract/driver.ts'
import { Perm } from '../../../src/clients/zookeeper/index.ts'
import type { ZookeeperDriver } from '../../../src/stores/zookeeper/driver.ts'
import { zookeeper } from '../../../src/stores/zookeeper/index.ts'
import { placesOf, Rig } from './rig.ts'

let rig: Rig
const drivers: ZookeeperDriver[] = []

beforeAll(async () => {
  // Three, so that the two clients may be at different servers, one of them behind.
  rig = await Rig.open(3)
})

afterEach(async () => {
  await Promise.all(drivers.splice(0).map((driver) => driver.close()))
  await rig.clear()
})
afterAll(() => rig?.[Symbol.asyncDispose]())

async function driver(server: number): Promise<ZookeeperDriver> {
  const made = await zookeeper({ servers: [rig.addresses[server] as string] })
  drivers.push(made)
  return made
}

function entry(line: string, over: Partial<Entry> = {}): Entry {
  return { line, id: randomBytes(16).toString('hex'), weight: 1, capacity: 1, ttlMs: 3_000, data: '{}', ...over }
}

test("the token is the node's own czxid, alone and among others", async () => {
  const [a, hand] = [await driver(0), rig.client()]
  const entries = [entry('czxid'), entry('czxid'), entry('czxid')]
  const tokens = []
  for (const each of entries) tokens.push((await a.enter(each, true))?.token)
  const stats = await Promise.all((await placesOf(hand, 'czxid')).map((path) => hand.exists(path)))
  expect(tokens).toEqual(stats.map((stat) => stat?.czxid).toSorted((x, y) => ((x ?? 0n) < (y ?? 0n) ? -1 : 1)))
  for (const each of entries) await a.leave(each)
})

test('two at different servers enter an empty line at once, again and again: one of them is first', async () => {
  const [a, b] = [await driver(0), await driver(1)]
  for (let round = 0; round < 100; round++) {
    const line = `race/${round % 10}`
    const pair = [entry(line), entry(line)] as const
    const [first, second] = await Promise.all([a.enter(pair[0], true), b.enter(pair[1], true)])
    if (first === null || second === null) throw new Error('both stand')
    expect([isGranted(pair[0], first), isGranted(pair[1], second)].filter(Boolean)).toHaveLength(1)
    expect(first.token < second.token).toBe(isGranted(pair[0], first))
    await Promise.all([a.leave(pair[0]), b.leave(pair[1])])
  }
})

test('a line that others have left is free again, and one that they came to is not', async () => {
  const [a, b] = [await driver(0), await driver(1)]
  for (let round = 0; round < 5; round++) {
    const [mine, theirs] = [entry('turns'), entry('turns')]
    expect(await a.enter(mine, true)).toMatchObject({ ahead: 0, wanted: false })
    expect(await b.enter(theirs, true)).toMatchObject({ ahead: 1 })
    await a.leave(mine)
    expect(await b.touch([theirs])).toMatchObject([{ ahead: 0 }])
    await b.leave(theirs)
    const again = entry('turns')
    expect(await b.enter(again, true), 'remembered as shared').toMatchObject({ ahead: 0 })
    await b.leave(again)
  }
})

test('permits are counted with those who stand there, and the capacity is theirs', async () => {
  const [a, b] = [await driver(0), await driver(2)]
  const held = entry('permits', { capacity: 3, weight: 2 })
  expect(await a.enter(held, true)).toMatchObject({ ahead: 0 })
  const next = entry('permits', { capacity: 3 })
  expect(await b.enter(next, true)).toMatchObject({ ahead: 2 })
  await expect(b.enter(entry('permits', { capacity: 4 }), true)).rejects.toMatchObject({ code: 'HF_CAPACITY' })
  expect(await placesOf(rig.client(), 'permits')).toHaveLength(2)
})

test("a child that is no place of ours is nobody's place", async () => {
  const [a, hand] = [await driver(0), rig.client()]
  const first = entry('stranger')
  await a.enter(first, true)
  await a.leave(first)
  await hand.create('/holdfast/lines/stranger/note')
  expect(await a.enter(entry('stranger'), true)).toMatchObject({ ahead: 0 })
})

test('who may make nodes in a line and not write to it is served as well', async () => {
  const acl = [{ perms: Perm.read | Perm.create | Perm.delete, scheme: 'world', id: 'anyone' }]
  const hf = await rig.holdfast({ prefix: 'no-write', acl })
  for (let round = 0; round < 3; round++) {
    const held = await hf.mutex('x').acquire()
    expect(await hf.mutex('x', { fairness: 'strict' }).tryAcquire()).toBeNull()
    expect(await held.release()).toBe(true)
  }
})

test('numbers at the end of 32 bits: the order is that of the transactions', async () => {
  const [a, hand] = [await driver(0), rig.client()]
  const first = entry('wrap')
  await a.enter(first, true)
  await a.leave(first)
  // As a server that has counted to the end names them: the last number, and the one after it.
  const old = ['2147483647', '-2147483648'].map((number) => `/holdfast/lines/wrap/p-${entry('').id}-1-1-${number}`)
  for (const path of old) await hand.create(path, Buffer.from('{}'))
  const [mine, behind] = [entry('wrap'), entry('wrap')]
  expect(await a.enter(mine, true)).toMatchObject({ ahead: 2, wanted: false })
  expect(await a.enter(behind, true)).toMatchObject({ ahead: 3 })
  await hand.delete(old[0] as string)
  expect(await a.touch([mine, behind])).toMatchObject([{ ahead: 1, wanted: true }, { ahead: 2 }])
  await hand.delete(old[1] as string)
  expect(await a.touch([mine])).toMatchObject([{ ahead: 0 }])
  await a.leave(mine)
  expect(await a.touch([behind])).toMatchObject([{ ahead: 0 }])
})
