/**
 * A follower cut off from its leader: what it still answers must not keep a session believed that the leader has ended.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ZooKeeperClient } from '../../../src/clients/zookeeper/index.ts'
import { Rig } from '../../stores/zookeeper/rig.ts'
import { Proxy } from './proxy.ts'

const SESSION_MS = 1_600
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

test.each(['sync', 'commit'] as const)(
  'with heartbeat %s the deadline ends with what the leader vouched for',
  async (heartbeat) => {
    const follower = ensemble.addresses[0] ?? ''
    const leaderSide = new ZooKeeperClient({ servers: ensemble.addresses.slice(1) })
    const client = new ZooKeeperClient({ servers: [follower], sessionTimeoutMs: SESSION_MS, heartbeat })
    const node = await client.create('/mine-', undefined, { mode: 'ephemeralSequential', timeoutMs: 30_000 })
    expect(client.session?.negotiatedMs).toBe(SESSION_MS)
    let deadline = 0
    const expired = new Promise<void>((resolve) => {
      client.onState((state) => {
        if (state === 'disconnected') deadline = client.session?.deadline ?? 0
        if (state === 'expired') resolve()
      })
    })
    await leaderSide.sync('/')
    const freedAt = new Promise<number>((resolve, reject) => {
      leaderSide.exists(node, { watch: () => resolve(performance.now()) }).catch(reject)
    })
    for (const proxy of proxies) proxy.swallow = true
    const [at] = await Promise.all([freedAt, expired])
    // A follower relays what it heard from its clients only every half tick, so the leader may count from the heartbeat
    // before the last: up to a third of the session less. With pings the deadline is 3 s too late here.
    expect(at).toBeGreaterThanOrEqual(deadline - SESSION_MS / 3)
    for (const proxy of proxies) {
      proxy.swallow = false
      proxy.cut()
    }
    await client.close({ timeoutMs: 1 })
    await leaderSide.close()
    await ensemble.servers[0]?.ready()
  },
)
