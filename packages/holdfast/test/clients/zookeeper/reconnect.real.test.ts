/** Links that break under a session: cut, black-holed, refused, the server restarted. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  type ClientState,
  type WatchEvent,
  ZooKeeperClient,
  type ZooKeeperClientOptions,
} from '../../../src/clients/zookeeper/index.ts'
import { Rig } from '../../stores/zookeeper/rig.ts'
import { Proxy } from './proxy.ts'

let ensemble: Rig
let proxy: Proxy
let witness: ZooKeeperClient
const clients: ZooKeeperClient[] = []

beforeAll(async () => {
  ensemble = await Rig.open(1, { tickMs: 500 })
})
afterAll(async () => {
  await ensemble?.[Symbol.asyncDispose]()
})

beforeEach(async () => {
  proxy = await Proxy.to(ensemble.servers[0]?.port ?? 0)
  witness = new ZooKeeperClient({ servers: ensemble.addresses })
  clients.push(witness)
})

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close({ timeoutMs: 500 })))
  await proxy[Symbol.asyncDispose]()
})

function proxied(options: Partial<ZooKeeperClientOptions> = {}): ZooKeeperClient {
  const client = new ZooKeeperClient({ servers: [proxy.address], ...options })
  clients.push(client)
  return client
}

/** Resolves when a request has been answered on the link as it is now. */
async function answered(client: ZooKeeperClient): Promise<void> {
  for (;;) {
    const got = await client.exists('/').then(
      () => true,
      () => false,
    )
    if (got) return
  }
}

function reached(client: ZooKeeperClient, wanted: ClientState): Promise<Error | undefined> {
  return new Promise((resolve) => {
    const stop = client.onState((state, cause) => {
      if (state !== wanted) return
      stop()
      resolve(cause)
    })
  })
}

/** A watch as the event it will be told. */
function watched(look: (watch: (event: WatchEvent) => void) => Promise<unknown>): {
  armed: Promise<unknown>
  event: Promise<WatchEvent>
} {
  let armed: Promise<unknown> = Promise.resolve()
  const event = new Promise<WatchEvent>((resolve) => {
    armed = look(resolve)
  })
  return { armed, event }
}

test('after a cut the session goes on: ephemerals stand, watches are armed again, missed events are told', async () => {
  const client = proxied({ sessionTimeoutMs: 10_000 })
  const base = await client.create('/cut-', undefined, { mode: 'persistentSequential' })
  const node = await client.create(`${base}/mine`, undefined, { mode: 'ephemeral' })
  const gaps: string[] = []
  const missedDelete = watched((watch) => client.exists(node, { watch }))
  const missedCreate = watched((watch) => client.exists(`${base}/new`, { watch }))
  const missedChild = watched((watch) => client.getChildren(base, { watch }))
  const laterData = watched((watch) => client.getData(base, { watch }))
  await Promise.all([missedDelete, missedCreate, missedChild, laterData].map(({ armed }) => armed))
  await client.addWatch(base, ({ type }) => gaps.push(type))
  const { id } = client.session ?? { id: 0n }
  const down = reached(client, 'disconnected')
  proxy.refuse = true
  proxy.cut()
  await down
  expect(client.session?.id).toBe(id)
  await witness.delete(node)
  await witness.create(`${base}/new`)
  const up = reached(client, 'connected')
  proxy.refuse = false
  await up
  expect(client.session?.id).toBe(id)
  expect((await missedDelete.event).type).toBe('deleted')
  expect((await missedCreate.event).type).toBe('created')
  expect((await missedChild.event).type).toBe('childrenChanged')
  await witness.setData(base, Buffer.from('x'))
  expect((await laterData.event).type).toBe('dataChanged')
  expect(gaps).toContain('gap')
})

test('identities are given again after a cut', async () => {
  const client = proxied({ sessionTimeoutMs: 10_000 })
  await client.auth('digest', 'ann:secret')
  const node = await client.create('/auth-', undefined, {
    mode: 'ephemeralSequential',
    acl: [{ perms: 31, scheme: 'auth', id: '' }],
  })
  const up = reached(client, 'connected')
  proxy.cut()
  await up
  await client.setData(node, Buffer.from('still mine'))
  await expect(witness.getData(node)).rejects.toMatchObject({ kind: 'NoAuth' })
})

test('requests in flight when the link breaks settle as sent or are answered; none hangs or doubles', async () => {
  const client = proxied({ sessionTimeoutMs: 10_000 })
  const base = await client.create('/flight-', undefined, { mode: 'persistentSequential' })
  const outcomes: Promise<'done' | 'unknown' | 'unsent'>[] = []
  // The last round is sent on a link that has been seen to work and is left alone: one that is cut within milliseconds
  // may have answered nothing at all.
  for (let round = 0; round <= 10; round++) {
    if (round === 10) await answered(client)
    for (let i = 0; i < 50; i++) {
      outcomes.push(
        client.create(`${base}/${round}-${i}`).then(
          () => 'done',
          (error: { sent: boolean }) => (error.sent ? 'unknown' : 'unsent'),
        ),
      )
    }
    await new Promise((resolve) => setTimeout(resolve, round))
    if (round < 10) proxy.cut()
  }
  const settled = await Promise.all(outcomes)
  const nodes = new Set((await witness.getChildren(base)).children)
  settled.forEach((outcome, at) => {
    const name = `${Math.floor(at / 50)}-${at % 50}`
    if (outcome === 'done') expect(nodes, name).toContain(name)
    if (outcome === 'unsent') expect(nodes, name).not.toContain(name)
  })
  expect(settled).toContain('done')
})

test('a black hole that ends in time costs a reconnect, not the session', async () => {
  const client = proxied({ sessionTimeoutMs: 10_000 })
  const node = await client.create('/hole-', undefined, { mode: 'ephemeralSequential' })
  const [down, up] = [reached(client, 'disconnected'), reached(client, 'connected')]
  proxy.swallow = true
  expect((await down)?.message).toContain('no answer to a heartbeat')
  proxy.swallow = false
  proxy.cut()
  await up
  expect((await client.exists(node))?.ephemeralOwner).toBe(client.session?.id)
})

test('a black hole that does not end: expired by the local deadline, before the server frees the node', async () => {
  const client = proxied({ sessionTimeoutMs: 3_000 })
  const node = await client.create('/lost-', undefined, { mode: 'ephemeralSequential' })
  const freed = watched((watch) => witness.exists(node, { watch }))
  await freed.armed
  const freedAt = freed.event.then(() => performance.now())
  const [down, expired] = [reached(client, 'disconnected'), reached(client, 'expired')]
  proxy.swallow = true
  await down
  const deadline = client.session?.deadline ?? 0
  await expired
  // Judged by the clock and not by who was heard first: this process may be late at hearing either.
  expect(await freedAt).toBeGreaterThanOrEqual(deadline)
  await expect(client.exists(node)).rejects.toMatchObject({ kind: 'SessionExpired', sent: false })
  proxy.swallow = false
  proxy.cut()
  await client.connect({ timeoutMs: 30_000 })
  expect(await client.exists(node)).toBeNull()
})

test('a session that the server ended first is expired by the word of the server', async () => {
  // A clock at a twentieth of its speed: no ping is due for long after the server's patience has ended.
  const client = proxied({ sessionTimeoutMs: 1_000, now: () => performance.now() / 20, renew: true })
  const node = await client.create('/slow-', undefined, { mode: 'ephemeralSequential', timeoutMs: 1_000 })
  const { id } = client.session ?? { id: 0n }
  const [expired, renewed] = [reached(client, 'expired'), reached(client, 'connecting')]
  expect((await expired)?.message).toContain('the server has ended the session')
  await renewed
  await reached(client, 'connected')
  expect(client.session?.id).not.toBe(id)
  expect(await witness.exists(node)).toBeNull()
})

test('a server that is killed and started again finds the session and its nodes where they were', async () => {
  const client = proxied({ sessionTimeoutMs: 10_000 })
  const node = await client.create('/restart-', undefined, { mode: 'ephemeralSequential' })
  const { id } = client.session ?? { id: 0n }
  const down = reached(client, 'disconnected')
  const server = ensemble.servers[0]
  await server?.kill()
  await down
  const queued = client.getData(node, { timeoutMs: 30_000 })
  const unsent = client.create('/never', undefined, { timeoutMs: 1 })
  await expect(unsent).rejects.toMatchObject({ kind: 'OperationTimeout', sent: false })
  await server?.start()
  expect((await queued).stat.ephemeralOwner).toBe(id)
  expect(client.session?.id).toBe(id)
})
