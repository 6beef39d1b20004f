import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { timesOut } from '../../../conformance/rig.ts'
import { LockLostError, StoreUnreachableError } from '../../../src/contract/errors.ts'
import type { HoldState } from '../../../src/hold/held.ts'
import { revokesLate } from '../../../src/stores/etcd/server-check.ts'
import { faultProxy } from '../../../../holdfast-lab/src/testbed/proxy.ts'
import { requireServers, skipped } from '../../../../holdfast-lab/src/testbed/require.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { leaderOf, lineOf, lossOf, open, rawClient, Room } from './rig.ts'

let bed: Testbed
let url: string
let servers: readonly Server[]

beforeAll(async () => {
  if (skipped('etcd')) return
  await requireServers(['etcd'])
  bed = await testbed()
  ;({ url, servers } = await bed.etcd(3))
})
afterAll(() => bed?.close())

/** A URL whose first member is this one. */
const only = (...some: readonly Server[]): string => `etcd://${some.map(({ port }) => `127.0.0.1:${port}`).join(',')}`

describe.skipIf(skipped('etcd'))('three members', () => {
  test('a version whose old leaders end live leases is warned of, where there can be an old leader', async () => {
    const codes: unknown[] = []
    const listen = (warning: Error): void => void codes.push((warning as NodeJS.ErrnoException).code)
    process.on('warning', listen)
    onTestFinished(() => void process.off('warning', listen))
    const alone = await bed.etcd(1)
    await open(alone.url)
    const [server] = servers
    const { version } = await rawClient(only(server as Server)).status()
    await new Promise((resolve) => setImmediate(resolve))
    expect(codes).not.toContain('HF_ETCD_LEASES')
    await open(only(server as Server))
    await new Promise((resolve) => setImmediate(resolve))
    expect(codes.includes('HF_ETCD_LEASES'), version).toBe(revokesLate(version))
  })

  test('the leader is killed under a crowd: one at a time, all served, tokens rise, nothing left', async () => {
    const { leader } = await leaderOf(servers)
    const clients = await Promise.all([0, 1, 2].map(() => open(url)))
    const room = new Room()
    let served = 0
    const visits = Array.from({ length: 90 }, async (_, i) => {
      const hf = clients[i % 3] as (typeof clients)[0]
      await hf.mutex('crowd', { fairness: i % 2 === 0 ? 'strict' : 'local' }).using(async ({ token }) => {
        await room.visit(token)
        if (++served === 20) await leader.kill()
      })
    })
    await Promise.all(visits)
    expect(room.most).toBe(1)
    expect(room.tokensRise).toBe(true)
    await expect
      .poll(() => lineOf(clients[0] as never, 'crowd'), { timeout: 30_000 })
      .toMatchObject({ holders: [], waiters: [] })
    await leader.start()
  })

  test('a hold outlives the killing of the leader, and the waiter behind it is served', async () => {
    const { leader } = await leaderOf(servers)
    const [a, b] = [await open(url), await open(url)]
    const states: HoldState[] = []
    const held = await a.mutex('kept', { ttlMs: 12_000, onState: (state) => void states.push(state) }).acquire()
    const next = b.mutex('kept', { ttlMs: 12_000 }).acquire()
    await expect.poll(async () => (await lineOf(b, 'kept')).waiters.length, { timeout: 30_000 }).toBe(1)
    await leader.kill()
    await expect.poll(() => lineOf(a, 'kept').then((line) => line.holders.length), { timeout: 30_000 }).toBe(1)
    // Past the lease it had when the leader died: only renewals through the new one can have kept it.
    await new Promise((resolve) => setTimeout(resolve, 13_000))
    held.assertHeld()
    expect(await held.release()).toBe(true)
    const successor = await next
    expect(successor.token).toBeGreaterThan(held.token)
    await successor.release()
    expect(states).not.toContain('lost')
    await leader.start()
  })

  test('a stopped leader: waiting goes on through the others', async () => {
    const { leader, others } = await leaderOf(servers)
    const [a, b] = [await open(only(leader, ...others)), await open(only(...others, leader))]
    const held = await a.mutex('stopped', { ttlMs: 15_000 }).acquire()
    const next = b.mutex('stopped', { ttlMs: 15_000 }).acquire()
    leader.pause()
    try {
      await held.release()
      await (await next).release()
    } finally {
      leader.resume()
    }
    await expect.poll(() => lineOf(b, 'stopped'), { timeout: 30_000 }).toMatchObject({ holders: [], waiters: [] })
  })

  test('a member that swallows everything is left for another', async () => {
    const proxies = await Promise.all(servers.map(({ port }) => faultProxy({ port })))
    try {
      const hf = await open(`etcd://${proxies.map(({ port }) => `127.0.0.1:${port}`).join(',')}`)
      const held = await hf.mutex('swallowed', { ttlMs: 15_000 }).acquire()
      const used = proxies.find(({ counts }) => counts.open > 0)
      await used?.set({ toServer: 'drop', toClient: 'drop' })
      expect(await held.release()).toBe(true)
      await (await hf.mutex('swallowed', { ttlMs: 15_000 }).acquire()).release()
      await expect.poll(() => lineOf(hf, 'swallowed'), { timeout: 30_000 }).toMatchObject({ holders: [], waiters: [] })
    } finally {
      await Promise.all(proxies.map((proxy) => proxy.close()))
    }
  })

  test('quorum is lost: acquire fails by its deadline, a holder is at risk, then lost; then all is well', async () => {
    const { leader, others } = await leaderOf(servers)
    // Its own client reaches only the member that is left: the minority must refuse.
    const hf = await open(only(leader), { connectTimeoutMs: 1_000 })
    const states: HoldState[] = []
    const held = await hf.mutex('quorum', { ttlMs: 3_000, onState: (state) => void states.push(state) }).acquire()
    for (const other of others) other.pause()
    try {
      const [loss, ...refused] = await Promise.all([
        lossOf(held),
        expect(hf.mutex('quorum').acquire({ waitMs: 2_500 })).rejects.toThrow(StoreUnreachableError),
        expect(hf.mutex('other').tryAcquire()).rejects.toThrow(StoreUnreachableError),
        expect(hf.mutex('other', { ttlMs: 2_000 }).acquire()).rejects.toThrow(StoreUnreachableError),
      ])
      expect(refused).toHaveLength(3)
      expect(loss).toBeInstanceOf(LockLostError)
      expect(states).toEqual(['held', 'at-risk', 'lost'])
    } finally {
      for (const other of others) other.resume()
    }
    // What was sent into the outage may be carried out now; it must not keep others out for longer than a lease.
    for (const name of ['quorum', 'other']) {
      await (await hf.mutex(name, { ttlMs: 3_000 }).acquire()).release()
      await expect.poll(() => lineOf(hf, name), { timeout: 40_000 }).toMatchObject({ holders: [], waiters: [] })
    }
    await expect(hf.mutex('other').using(() => 1)).resolves.toBe(1)
  })

  test('contention is still contention while a follower is down', async () => {
    const { others } = await leaderOf(servers)
    const down = others[0] as Server
    await down.kill()
    const [a, b] = [await open(url), await open(url)]
    const held = await a.mutex('down').acquire()
    await timesOut((waitMs) => b.mutex('down').acquire({ waitMs }), 500)
    expect(await b.mutex('down').tryAcquire()).toBeNull()
    await held.release()
    await down.start()
  })
})
