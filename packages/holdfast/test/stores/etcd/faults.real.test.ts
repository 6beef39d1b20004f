import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { LockLostError } from '../../../src/contract/errors.ts'
import type { EtcdClient } from '../../../src/clients/etcd/index.ts'
import { faultProxy } from '../../../../holdfast-lab/src/testbed/proxy.ts'
import { skipped } from '../../../../holdfast-lab/src/testbed/require.ts'
import { lineOf, lossOf, oneMember, open, rawClient } from './rig.ts'

let url: string
beforeAll(
  oneMember((at) => {
    url = at
  }),
)

async function etcdctl(...args: string[]): Promise<string> {
  const endpoint = url.replace('etcd://', 'http://')
  const env = { ...process.env, ETCDCTL_API: '3' }
  return (await promisify(execFile)('etcdctl', ['--endpoints', endpoint, ...args], { env })).stdout
}

/** The keys of a line, oldest first. */
async function keysOf(client: EtcdClient, line: string): Promise<{ key: Uint8Array; lease: bigint }[]> {
  const start = Buffer.from(`holdfast/line/${line}/`)
  const end = Buffer.from(`holdfast/line/${line}0`)
  const { kvs } = await client.range({ key: start, rangeEnd: end, sortTarget: 'create', sortOrder: 'ascend' })
  return kvs.map(({ key, lease }) => ({ key, lease }))
}

// Heartbeats so rare that nothing in a test can be owed to them.
const RARE = { ttlMs: 300_000 }

describe.skipIf(skipped('etcd'))('faults', () => {
  test('a key deleted by hand under a holder is told at once, not at a heartbeat, however early', async () => {
    const hf = await open(url)
    const client = rawClient(url)
    const early = await hf.mutex('early', RARE).acquire()
    await client.deleteRange({ key: (await keysOf(client, 'early'))[0]?.key as Uint8Array })
    expect(await lossOf(early)).toBeInstanceOf(LockLostError)
    // By now a hold has lasted long enough to be watched.
    const late = await hf.mutex('late', RARE).acquire()
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    late.assertHeld()
    await client.deleteRange({ key: (await keysOf(client, 'late'))[0]?.key as Uint8Array })
    expect(await lossOf(late)).toBeInstanceOf(LockLostError)
    await (await hf.mutex('late', RARE).acquire()).release()
  })

  test('a key deleted by hand: the holder is told, a waiter takes a new place and is served', async () => {
    const [a, b] = [await open(url), await open(url)]
    const client = rawClient(url)
    const held = await a.mutex('by-hand', { ttlMs: 3_000 }).acquire()
    const next = b.mutex('by-hand', RARE).acquire()
    await expect.poll(async () => (await lineOf(b, 'by-hand')).waiters.length).toBe(1)
    const [, waiter] = await keysOf(client, 'by-hand')
    await client.deleteRange({ key: waiter?.key as Uint8Array })
    await expect
      .poll(
        async () =>
          (await keysOf(client, 'by-hand')).filter(({ key }) => !Buffer.from(key).equals(waiter?.key as Uint8Array))
            .length,
        {
          timeout: 30_000,
        },
      )
      .toBe(2)
    const [holder] = await keysOf(client, 'by-hand')
    await client.deleteRange({ key: holder?.key as Uint8Array })
    expect(await lossOf(held)).toBeInstanceOf(LockLostError)
    await (await next).release()
  })

  test('break is told to a holder at once, and now lets others in at once', async () => {
    const [a, b] = [await open(url), await open(url)]
    const held = await a.mutex('broken', RARE).acquire()
    const next = b.mutex('broken', RARE).acquire()
    await expect.poll(async () => (await lineOf(b, 'broken')).waiters.length).toBe(1)
    expect(await b.break('broken', { now: true })).toBe(1)
    expect(await lossOf(held)).toBeInstanceOf(LockLostError)
    await (await next).release()
  })

  test('a broken place weighs until it lapses, although its owner goes on renewing', async () => {
    const client = rawClient(url)
    const a = await open(url)
    const held = await a.mutex('demoted', { ttlMs: 2_000 }).acquire()
    const [before] = await keysOf(client, 'demoted')
    expect(await a.break('demoted')).toBe(1)
    const [after] = await keysOf(client, 'demoted')
    expect(after?.lease).not.toBe(before?.lease)
    expect(await a.break('demoted')).toBe(1)
    expect((await keysOf(client, 'demoted'))[0]?.lease).toBe(after?.lease)
    expect(await lossOf(held)).toBeInstanceOf(LockLostError)
    await expect.poll(() => keysOf(client, 'demoted'), { timeout: 30_000 }).toEqual([])
  })

  test('a watch cut off while its history is compacted: the waiter is served all the same', async () => {
    const { port } = new URL(url.replace('etcd:', 'http:'))
    const proxy = await faultProxy({ port: Number(port) })
    try {
      const [a, b] = [await open(url), await open(`etcd://127.0.0.1:${proxy.port}`)]
      const held = await a.mutex('compacted', RARE).acquire()
      const next = b.mutex('compacted', RARE).acquire()
      await expect.poll(async () => (await lineOf(a, 'compacted')).waiters.length).toBe(1)
      await proxy.set({ accept: false })
      proxy.reset()
      await held.release()
      await (await a.mutex('elsewhere').acquire()).release()
      const { header } = await rawClient(url).range({ key: Buffer.from('x') })
      await etcdctl('compact', String(header.revision))
      await proxy.heal()
      await (await next).release()
    } finally {
      await proxy.close()
    }
  })

  test('the reply to an enter is lost: one place, and the lease takes no new ones', async () => {
    const { port } = new URL(url.replace('etcd:', 'http:'))
    const proxy = await faultProxy({ port: Number(port) })
    try {
      const client = rawClient(url)
      const hf = await open(`etcd://127.0.0.1:${proxy.port}`)
      const first = await hf.mutex('before').acquire()
      const [doubted] = await keysOf(client, 'before')
      const lost = proxy.loseNextReply({ match: (bytes) => bytes.includes('holdfast/line/lost-reply/') })
      const held = await hf.mutex('lost-reply').acquire()
      expect(await lost).toBe(true)
      expect(await keysOf(client, 'lost-reply')).toHaveLength(1)
      const second = await hf.mutex('after').acquire()
      const [fresh] = await keysOf(client, 'after')
      expect(fresh?.lease).not.toBe(doubted?.lease)
      for (const each of [first, held, second]) expect(await each.release()).toBe(true)
      // With its last place gone the doubted lease is revoked: what might come late is refused.
      await expect
        .poll(async () => (await client.lease.timeToLive({ id: doubted?.lease ?? 0n })).ttlS, { timeout: 30_000 })
        .toBe(-1)
    } finally {
      await proxy.close()
    }
  })

  test('a place that nobody wants, on a lease that others keep alive, is removed', async () => {
    const client = rawClient(url)
    const hf = await open(url)
    const holds = await Promise.all(
      Array.from({ length: 200 }, (_, i) => hf.mutex(`many-${i}`, { ttlMs: 3_000 }).acquire()),
    )
    const [{ lease } = { lease: 0n }] = await keysOf(client, 'many-0')
    // As a request would make it that was carried out long after its client had given it up.
    await client.put({
      key: Buffer.from(`holdfast/line/haunted/1/1/${'f'.repeat(32)}`),
      lease,
      value: Buffer.from('{}'),
    })
    await (await (await open(url)).mutex('haunted', RARE).acquire()).release()
    for (const held of holds) expect(await held.release()).toBe(true)
  })
})
