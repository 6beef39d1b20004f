/**
 * A holder at a follower that is cut off from its leader: it must not believe in its hold when the leader gives it on.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { zookeeper } from '../../../src/stores/zookeeper/index.ts'
import type { Held } from '../../../src/hold/held.ts'
import { type Holdfast, makeInstance } from '../../../src/holdfast.ts'
import { Proxy } from '../../clients/zookeeper/proxy.ts'
import { Rig } from './rig.ts'

const MOMENTS = 4
let ensemble: Rig
const proxies: Proxy[] = []

beforeAll(async () => {
  ensemble = await Rig.open(3, {
    tickMs: 400,
    config: { syncLimit: 10 },
    // The first server, whose id is too low for a leader, reaches the others through proxies.
    peerPort: async (from, _to, port, use) => {
      if (from !== 1 || use === 'election') return port
      const proxy = await Proxy.to(port)
      proxies.push(proxy)
      return Number(proxy.address.split(':')[1])
    },
  })
})

afterAll(async () => {
  await ensemble?.[Symbol.asyncDispose]()
  await Promise.all(proxies.map((proxy) => proxy[Symbol.asyncDispose]()))
})

test('lost by its own clock before another is granted, at four moments between two heartbeats', async () => {
  const [follower = '', ...leaderSide] = ensemble.addresses
  const there = makeInstance(await zookeeper({ servers: leaderSide }), {})
  const opened: Holdfast[] = []
  const holds: Promise<void>[] = []
  for (let i = 0; i < MOMENTS; i++) {
    // Each has a session of its own, whose heartbeats begin with it: what was said last may not have been passed on.
    const here = makeInstance(await zookeeper({ servers: [follower] }), {})
    opened.push(here)
    const ttlMs = here.traits.ttlMsMin
    const held = await here.mutex(`cut ${i}`, { ttlMs }).acquire()
    holds.push(outlived(there, held, `cut ${i}`))
    await new Promise((resolve) => setTimeout(resolve, ttlMs / (4 * MOMENTS)))
    expect(held.state).toBe('held')
  }
  await new Promise((resolve) => setTimeout(resolve, 400))
  for (const proxy of proxies) proxy.swallow = true
  await Promise.all(holds)
  for (const proxy of proxies) {
    proxy.swallow = false
    proxy.cut()
  }
  await ensemble.servers[0]?.ready()
  await Promise.all([...opened, there].map((hf) => hf.close()))
})

/** Waits behind a hold, and asks the holder's clock, not its timers, when it is granted. */
async function outlived(there: Holdfast, held: Held, line: string): Promise<void> {
  const successor = await there.mutex(line).acquire()
  expect(held.state).toBe('lost')
  expect(successor.token).toBeGreaterThan(held.token)
  await successor.release()
}
