/** One that holds tells the next its turn by the way it leaves; nothing else does. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { openAcl, type ReadOptions, ZooKeeperClient } from '../../../src/clients/zookeeper/index.ts'
import { ZookeeperDriver } from '../../../src/stores/zookeeper/driver.ts'
import { LineLayout } from '../../../src/stores/zookeeper/layout.ts'
import { type Holdfast, makeInstance } from '../../../src/holdfast.ts'
import { system } from '../../../src/system.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { aborted, placesOf, Rig, say, until } from './rig.ts'

let rig: Rig

beforeAll(async () => {
  // Long sessions: what is told here is told by events, long before a heartbeat would find it.
  rig = await Rig.open(1, { config: { maxSessionTimeout: 60_000 } })
})

afterEach(() => rig.clear())
afterAll(() => rig?.[Symbol.asyncDispose]())

/** A number that the server counts itself. */
async function counted(name: string): Promise<number> {
  const told = await say(rig.servers[0] as Server, 'mntr', name)
  return Number(new RegExp(`${name}\t(\\d+)`).exec(told)?.[1])
}

async function strict(): Promise<Holdfast> {
  return rig.holdfast({}, { fairness: 'strict' })
}

/** The nodes of a line, in order, once there are so many. */
async function inLine(line: string, count: number): Promise<string[]> {
  const hand = rig.client()
  return until(`${count} stand in line`, async () => {
    const places = await placesOf(hand, line)
    return places.length === count ? places.toSorted((a, b) => (a.slice(-10) < b.slice(-10) ? -1 : 1)) : null
  })
}

test('a waiter that gives up, or whose node a hand deletes, passes no turn on', async () => {
  const [a, b, c, d] = [await strict(), await strict(), await strict(), await strict()]
  const held = await a.mutex('no turn').acquire()
  const giveUp = new AbortController()
  const second = b.mutex('no turn').acquire({ signal: giveUp.signal })
  await inLine('no turn', 2)
  const third = c.mutex('no turn').acquire()
  await inLine('no turn', 3)
  const order: string[] = []
  const fourth = d.mutex('no turn').acquire()
  void fourth.then(() => order.push('fourth'))
  const [, , node = ''] = await inLine('no turn', 4)
  giveUp.abort(new Error('enough'))
  await expect(second).rejects.toThrow('enough')
  await b.close()
  await inLine('no turn', 3)
  // The holder watches its own node and for a break, two wait for the one in front. From a second on these watch
  // theirs.
  await until('they watch their own nodes', async () => ((await counted('zk_watch_count')) >= 6 ? true : null))
  await rig.client().delete(node)
  void third.then(() => order.push('third'))
  // It enters again, behind the other.
  await inLine('no turn', 3)
  expect(order).toEqual([])
  expect(held.state).toBe('held')
  await held.release()
  await (await fourth).release()
  await (await third).release()
  expect(order).toEqual(['fourth', 'third'])
})

class CountingClient extends ZooKeeperClient {
  static lists = 0

  override getChildren(path: string, options?: ReadOptions): ReturnType<ZooKeeperClient['getChildren']> {
    CountingClient.lists++
    return super.getChildren(path, options)
  }
}

function counting(): Holdfast {
  const driver = new ZookeeperDriver({
    layout: new LineLayout('holdfast'),
    base: '/holdfast',
    acl: openAcl,
    runtime: system,
    connect: (sessionTimeoutMs) =>
      new CountingClient({ servers: rig.addresses, sessionTimeoutMs, heartbeat: 'sync', renew: true }),
    sessionMs: { min: 800, max: 40_000 },
  })
  return makeInstance(driver, { fairness: 'strict' })
}

test('a hundred short holds of three sessions: no list on the way from one to the next', async () => {
  const sessions = [counting(), counting(), counting()] as const
  const held = await sessions[0].mutex('quiet').acquire()
  const tokens: bigint[] = []
  const waits = Array.from({ length: 99 }, (_, i) =>
    (sessions[i % 3] as Holdfast).mutex('quiet').using(({ token }) => void tokens.push(token)),
  )
  await inLine('quiet', 100)
  const before = CountingClient.lists
  await held.release()
  await Promise.all(waits)
  expect(tokens).toEqual(tokens.toSorted((x, y) => (x < y ? -1 : 1)))
  // Not one for each: only where nobody has answered for a session lately, which on a busy machine may be so at first.
  expect(CountingClient.lists - before).toBeLessThan(30)
  await Promise.all(sessions.map((hf) => hf.close()))
})

test('a break of one who holds while others wait: the next comes when the holder has gone, not before', async () => {
  const [a, b, c] = [await strict(), await strict(), await strict()]
  const held = await a.mutex('broken').acquire()
  const waiting = b.mutex('broken').acquire()
  await inLine('broken', 2)
  expect(await c.break('broken')).toBe(1)
  await aborted(held.signal)
  const next = await waiting
  expect(next.token).toBeGreaterThan(held.token)
  expect(await next.release()).toBe(true)
  expect(await rig.client().exists('/holdfast/breaks/broken'), 'the word is taken away').toBeNull()
})

test('a word to one that left without hearing it breaks nobody else, and is taken away', async () => {
  const [a, b] = [await strict(), await strict()]
  const hand = rig.client()
  const held = await a.mutex('late word').acquire()
  const [gone = ''] = await inLine('late word', 1)
  await held.release()
  await hand.create('/holdfast/breaks').catch((error: unknown) => expect(error).toMatchObject({ kind: 'NodeExists' }))
  await hand.create('/holdfast/breaks/late%20word', Buffer.from(gone.slice(gone.lastIndexOf('/') + 1)))
  const next = await b.mutex('late word').acquire()
  await until('the word is taken away', async () =>
    (await hand.exists('/holdfast/breaks/late%20word')) === null ? true : null,
  )
  expect(next.state).toBe('held')
  // One that comes now is for it.
  expect(await a.break('late word')).toBe(1)
  await aborted(next.signal)
})
