import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { EtcdClient, EtcdUnreachableError, type KeepAliveReply } from '../../../src/clients/etcd/index.ts'
import { type FaultProxy, faultProxy } from '../../../../holdfast-lab/src/testbed/proxy.ts'
import { skipped } from '../../../../holdfast-lab/src/testbed/require.ts'
import { oneMember, rawClient } from './rig.ts'

let url: string
beforeAll(
  oneMember((at) => {
    url = at
  }),
)

async function way(): Promise<FaultProxy> {
  const proxy = await faultProxy({ port: Number(new URL(url.replace('etcd:', 'http:')).port) })
  onTestFinished(() => proxy.close())
  return proxy
}

describe.skipIf(skipped('etcd'))('the client moves to another member', () => {
  test('its streams go with it: what stays on the connection that was given up is nothing', async () => {
    const [first, second] = [await way(), await way()]
    const endpoints = [first, second].map(({ port }) => `http://127.0.0.1:${port}`)
    // Probes so rare that no connection is given up for its silence.
    const client = new EtcdClient({ endpoints, random: () => 0, probeIntervalMs: 600_000 })
    onTestFinished(() => client.close())
    const { id } = await client.lease.grant({ ttlS: 300 })
    const replies: KeepAliveReply[] = []
    const keepAlive = client.keepAlive({ onReply: (reply) => void replies.push(reply) })
    keepAlive.send(id, 600_000)
    await expect.poll(() => replies.length).toBe(1)
    let changes = 0
    await client.watch(Buffer.from('moved'), {}, { onEvents: () => void changes++, onEnd: () => {} })
    expect([first.counts.open, second.counts.open]).toEqual([1, 0])
    // One write gets no answer in its time; then all is as before, but new calls go the other way.
    await first.set({ toClient: 'hold' })
    await expect(client.put({ key: Buffer.from('slow') }, { timeoutMs: 500 })).rejects.toThrow(EtcdUnreachableError)
    await first.heal()
    await client.put({ key: Buffer.from('elsewhere') })
    await expect.poll(() => [first.counts.open, second.counts.open]).toEqual([0, 1])
    keepAlive.send(id, 600_000)
    await expect.poll(() => replies.length).toBe(2)
    expect(replies.every(({ ttlS }) => ttlS === 300)).toBe(true)
    await rawClient(url).put({ key: Buffer.from('moved') })
    await expect.poll(() => changes).toBe(1)
  })

  test('a keep-alive that was sent and not answered is sent again on the way', async () => {
    const [first, second] = [await way(), await way()]
    const endpoints = [first, second].map(({ port }) => `http://127.0.0.1:${port}`)
    const client = new EtcdClient({ endpoints, random: () => 0, probeIntervalMs: 600_000 })
    onTestFinished(() => client.close())
    const { id } = await client.lease.grant({ ttlS: 300 })
    const replies: KeepAliveReply[] = []
    const keepAlive = client.keepAlive({ onReply: (reply) => void replies.push(reply) })
    await first.set({ toClient: 'hold' })
    keepAlive.send(id, 600_000)
    await expect(client.put({ key: Buffer.from('slow') }, { timeoutMs: 500 })).rejects.toThrow(EtcdUnreachableError)
    await expect.poll(() => replies.length).toBe(1)
  })
})
