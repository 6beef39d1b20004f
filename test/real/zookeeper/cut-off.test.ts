/** A holder at a follower that is cut off from its leader: it must not believe in its hold when the leader gives it on. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { zookeeper } from '../../../src/drivers/zookeeper/index.ts'
import { makeInstance } from '../../../src/holdfast.ts'
import { requireServers } from '../../../src/testbed/require.ts'
import { Proxy } from '../zk-client/proxy.ts'
import { type Ensemble, startEnsemble } from '../zk-client/server.ts'

const ROUNDS = 4
let ensemble: Ensemble
const proxies: Proxy[] = []

beforeAll(async () => {
  await requireServers(['zookeeper'])
  ensemble = await startEnsemble({
    count: 3,
    tickMs: 400,
    // The first server, whose id is too low for a leader, reaches the others through proxies.
    route: async (from, _to, port, use) => {
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

test.each(Array.from({ length: ROUNDS }, (_, i) => i))(
  'round %i: lost by its own clock before another is granted',
  async (round) => {
    const [follower = '', ...leaderSide] = ensemble.addresses
    const here = makeInstance(await zookeeper({ servers: [follower] }), {})
    const there = makeInstance(await zookeeper({ servers: leaderSide }), {})
    const ttlMs = here.traits.ttlMsMin
    const held = await here.mutex('cut', { ttlMs }).acquire()
    const waiting = there.mutex('cut').acquire()
    // A different moment between two heartbeats each time: what was said last may not have been passed on.
    await new Promise((resolve) => setTimeout(resolve, 400 + (round * ttlMs) / (4 * ROUNDS)))
    expect(held.state).toBe('held')
    for (const proxy of proxies) proxy.swallow = true
    const successor = await waiting
    // Asked of its clock, not of its timers.
    expect(held.state).toBe('lost')
    expect(successor.token).toBeGreaterThan(held.token)
    await successor.release()
    for (const proxy of proxies) {
      proxy.swallow = false
      proxy.cut()
    }
    await ensemble.servers[0]?.serving()
    await Promise.all([here.close(), there.close()])
  },
)
