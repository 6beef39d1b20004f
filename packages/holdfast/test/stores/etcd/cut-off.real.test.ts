import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { LockLostError, StoreUnreachableError } from '../../../src/contract/errors.ts'
import type { HoldState } from '../../../src/hold/held.ts'
import { EtcdClient } from '../../../src/clients/etcd/index.ts'
import { requireServers, skipped } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import { PeerLinks } from '../../../../holdfast-lab/src/testbed/peer-links.ts'
import { leaderOf, lineOf, lossOf, open } from './rig.ts'

const links = new PeerLinks()
const peerPorts: number[] = []
let bed: Testbed
let servers: readonly Server[]

/** Cuts a member off from the others; its clients still reach it. */
async function cutOff(member: Server): Promise<void> {
  const client = new EtcdClient({ endpoints: [`http://127.0.0.1:${member.port}`] })
  const { header } = await client.status()
  await client.close()
  links.cut(header.memberId, peerPorts[servers.indexOf(member)] as number)
}

if (!skipped('etcd')) {
  await requireServers(['etcd'])
  bed = await testbed()
  const peerPort = async (port: number): Promise<number> => {
    peerPorts.push(port)
    return links.lead(port)
  }
  ;({ servers } = await bed.etcd(3, { peerPort }))
}
afterAll(async () => {
  await bed?.close()
  links.close()
})

describe.skipIf(skipped('etcd'))('cut off from the others', () => {
  test('the old leader refuses, its holder is lost in time, and the majority serves the next one', async () => {
    const { leader, others } = await leaderOf(servers)
    const minority = await open(`etcd://127.0.0.1:${leader.port}`, { connectTimeoutMs: 1_000 })
    const majority = await open(`etcd://${others.map(({ port }) => `127.0.0.1:${port}`).join(',')}`)
    const states: HoldState[] = []
    const onState = (state: HoldState): void => void states.push(state)
    const held = await minority.mutex('island', { ttlMs: 3_000, onState }).acquire()
    const next = majority.mutex('island', { ttlMs: 20_000 }).acquire()
    await expect.poll(async () => (await lineOf(majority, 'island')).waiters.length, { timeout: 30_000 }).toBe(1)
    onTestFinished(() => links.heal())
    await cutOff(leader)
    await Promise.all([
      expect(minority.mutex('island').acquire({ waitMs: 2_500 })).rejects.toThrow(StoreUnreachableError),
      expect(minority.mutex('free').tryAcquire()).rejects.toThrow(StoreUnreachableError),
    ])
    // The holder must know before the next one may act.
    const order = await Promise.all([
      lossOf(held).then((reason) => ({ who: 'lost', reason, at: performance.now() })),
      next.then((successor) => ({ who: 'next', successor, at: performance.now() })),
    ])
    expect(order[0].reason).toBeInstanceOf(LockLostError)
    expect(order[0].at).toBeLessThanOrEqual(order[1].at)
    expect(states).toEqual(['held', 'at-risk', 'lost'])
    const { successor } = order[1]
    expect(successor.token).toBeGreaterThan(held.token)
    links.heal()
    expect(await successor.release()).toBe(true)
    await expect(minority.mutex('free', { ttlMs: 3_000 }).using(() => 1)).resolves.toBe(1)
  })
})
