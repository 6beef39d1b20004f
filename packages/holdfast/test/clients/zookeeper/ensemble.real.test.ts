/** A session and three servers: it moves to another when its own is killed, stopped or cut off. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { StoreUnreachableError } from '../../../src/contract/errors.ts'
import { type ClientState, isZooKeeperError, ZooKeeperClient } from '../../../src/clients/zookeeper/index.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { Rig } from '../../stores/zookeeper/rig.ts'
import { Proxy } from './proxy.ts'

const SESSION_MS = 8_000
/** Servers are tried in a random order; a number of almost 1 leaves them as they are. */
const unshuffled = (): number => 0.99
let ensemble: Rig
let proxies: Proxy[]

beforeAll(async () => {
  ensemble = await Rig.open(3, { tickMs: 400, config: { syncLimit: 10 } })
  proxies = await Promise.all(ensemble.servers.map((server) => Proxy.to(server.port)))
})

afterAll(async () => {
  await Promise.all((proxies ?? []).map((proxy) => proxy[Symbol.asyncDispose]()))
  await ensemble?.[Symbol.asyncDispose]()
})

function reached(client: ZooKeeperClient, wanted: ClientState): Promise<Error | undefined> {
  return new Promise((resolve) => {
    const stop = client.onState((state, cause) => {
      if (state !== wanted) return
      stop()
      resolve(cause)
    })
  })
}

/** A client of its own for each, whose server is the one named: it goes to the next when that one is harmed. */
async function moves(
  at: number,
  harm: (server: Server, link: Proxy) => void | Promise<void>,
  heal: (server: Server, link: Proxy) => void | Promise<void>,
): Promise<void> {
  const order = [0, 1, 2].map((i) => ensemble.servers[(at + i) % 3] as Server)
  const links = await Promise.all(order.map((server) => Proxy.to(server.port)))
  const [server, link] = [order[0], links[0]] as [Server, Proxy]
  // After the case before, another may still be about to lead.
  await Promise.all(order.map((each) => each.ready()))
  const servers = links.map(({ address }) => address)
  const client = new ZooKeeperClient({ servers, sessionTimeoutMs: SESSION_MS, random: unshuffled })
  const node = await client.create('/moving-', undefined, { mode: 'ephemeralSequential', timeoutMs: 30_000 })
  const { id } = client.session ?? { id: 0n }
  const before = client.lastZxid
  expect(link.connections).toBe(1)
  const [down, up] = [reached(client, 'disconnected'), reached(client, 'connected')]
  const seen: ClientState[] = []
  client.onState((state) => seen.push(state))
  await harm(server, link)
  await down
  await up
  expect(seen).not.toContain('expired')
  expect(client.session?.id).toBe(id)
  await client.sync('/', { timeoutMs: 30_000 })
  expect((await client.exists(node, { timeoutMs: 30_000 }))?.ephemeralOwner).toBe(id)
  expect(client.lastZxid).toBeGreaterThanOrEqual(before)
  await heal(server, link)
  await client.close()
  await Promise.all(links.map((each) => each[Symbol.asyncDispose]()))
}

test('its server is killed', async () => {
  await moves(
    0,
    (server) => server.kill(),
    (server) => server.start(),
  )
})

test('its server is stopped: nothing is said any more, the kernel still takes connections', async () => {
  await moves(
    0,
    (server) => server.pause(),
    async (server) => {
      server.resume()
      await server.ready()
    },
  )
})

test('its server is behind a black hole', async () => {
  await moves(
    1,
    (_, link) => {
      link.swallow = true
    },
    (_, link) => {
      link.swallow = false
      link.cut()
    },
  )
})

test('the session has moved: what its old server still gets in its name is refused', async () => {
  const two = proxies.slice(1) as [Proxy, Proxy]
  const servers = two.map(({ address }) => address)
  const client = new ZooKeeperClient({ servers, sessionTimeoutMs: SESSION_MS })
  await client.create('/moved', undefined, { timeoutMs: 30_000 })
  const [old, other] = two[0].connections === 1 ? two : (two.toReversed() as [Proxy, Proxy])
  const { id } = client.session ?? { id: 0n }
  old.stall = true
  const late = client.create('/moved/late', undefined, { timeoutMs: 30_000 })
  await expect.poll(() => old.stalled, { timeout: 30_000 }).toBeGreaterThan(0)
  const up = reached(client, 'connected')
  old.refuse = true
  old.hangUp()
  await expect(late).rejects.toMatchObject({ code: 'HF_UNREACHABLE', sent: true })
  await up
  expect([client.session?.id, other.connections]).toEqual([id, 1])
  const answered = old.answers
  old.deliver()
  await expect.poll(() => old.answers, { timeout: 30_000 }).toBeGreaterThan(answered)
  await client.sync('/moved')
  expect((await client.getChildren('/moved')).children).toEqual([])
  old.refuse = false
  old.cut()
  await client.close()
})

test('clients spread over the ensemble', async () => {
  const many = Array.from({ length: 30 }, () => new ZooKeeperClient({ servers: proxies.map((proxy) => proxy.address) }))
  await Promise.all(many.map((client) => client.connect({ timeoutMs: 30_000 })))
  expect(proxies.filter((proxy) => proxy.connections > 0).length).toBeGreaterThan(1)
  await Promise.all(many.map((client) => client.close()))
})

test('without a quorum nothing is served, and requests say so in time; with it again they go through', async () => {
  const client = new ZooKeeperClient({ servers: ensemble.addresses, sessionTimeoutMs: SESSION_MS, renew: true })
  await client.connect({ timeoutMs: 30_000 })
  const down = reached(client, 'disconnected')
  await Promise.all(ensemble.servers.slice(0, 2).map((server) => server.kill()))
  await down
  // The survivor may take a while to notice that it is alone; until then requests are sent to it, for nothing.
  await expect(client.create('/no-quorum', undefined, { timeoutMs: 300 })).rejects.toMatchObject({
    code: 'HF_UNREACHABLE',
  })
  await Promise.all(ensemble.servers.slice(0, 2).map((server) => server.start()))
  // The survivor may still take a request and be gone before it answers: that outcome is unknown, and asked for again.
  const created = async (): Promise<boolean> => {
    try {
      await client.create('/quorum', undefined, { timeoutMs: 5_000 })
      return true
    } catch (error) {
      if (isZooKeeperError(error, 'NodeExists')) return true
      if (error instanceof StoreUnreachableError) return false
      throw error
    }
  }
  await expect.poll(created, { timeout: 30_000 }).toBe(true)
  expect(await client.exists('/quorum')).not.toBeNull()
  await client.close()
})
