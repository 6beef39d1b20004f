import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { LockLostError, StoreUnreachableError } from '../../../src/contract/errors.ts'
import { entry } from '../../../conformance/rig.ts'
import { etcd } from '../../../src/stores/etcd/index.ts'
import { type Holdfast, makeInstance } from '../../../src/holdfast.ts'
import { type FaultProxy, faultProxy } from '../../../../holdfast-lab/src/testbed/proxy.ts'
import { skipped } from '../../../../holdfast-lab/src/testbed/require.ts'
import { lineOf, lossOf, oneMember, rawClient } from './rig.ts'

let url: string
beforeAll(
  oneMember((at) => {
    url = at
  }),
)

const TTL = { ttlMs: 5_000 }
// Heartbeats so rare that nothing in a test can be owed to them.
const RARE = { ttlMs: 300_000 }

async function open(at = url): Promise<Holdfast> {
  const hf = makeInstance(await etcd({ url: at, layout: 'key' }), {})
  onTestFinished(() => hf.close())
  return hf
}

async function proxied(): Promise<{ proxy: FaultProxy; hf: Holdfast }> {
  const proxy = await faultProxy({ port: Number(new URL(url.replace('etcd:', 'http:')).port) })
  onTestFinished(() => proxy.close())
  return { proxy, hf: await open(`etcd://127.0.0.1:${proxy.port}`) }
}

const keyOf = (name: string): Buffer => Buffer.from(`holdfast/key/${name}`)

describe.skipIf(skipped('etcd'))('key: requests without an answer', () => {
  test('the reply to an enter is lost while other holds renew the lease: asked again, the lock is had', async () => {
    const { proxy, hf } = await proxied()
    const other = await hf.mutex('beside', RARE).acquire()
    const lost = proxy.loseNextReply({ match: (bytes) => bytes.includes(keyOf('asked-again')) })
    const held = await hf.mutex('asked-again', RARE).acquire({ waitMs: 30_000 })
    expect(await lost).toBe(true)
    expect((await lineOf(hf, 'asked-again')).holders).toMatchObject([{ token: held.token }])
    expect(await held.release()).toBe(true)
    other.assertHeld()
  })

  test('the driver, asked again with the same id, answers for the place that the first request made', async () => {
    const proxy = await faultProxy({ port: Number(new URL(url.replace('etcd:', 'http:')).port) })
    onTestFinished(() => proxy.close())
    const driver = await etcd({ url: `etcd://127.0.0.1:${proxy.port}`, layout: 'key' })
    onTestFinished(() => driver.close())
    const beside = entry('beside-the-driver', RARE)
    expect(await driver.enter(beside, true)).not.toBeNull()
    const lost = proxy.loseNextReply({ match: (bytes) => bytes.includes(keyOf('same-id')) })
    const wanted = entry('same-id', RARE)
    await expect(driver.enter(wanted, true)).rejects.toThrow(StoreUnreachableError)
    expect(await lost).toBe(true)
    const place = await driver.enter(wanted, true)
    expect(place).toMatchObject({ ahead: 0 })
    expect(await driver.touch([wanted, beside])).toMatchObject([{ token: place?.token }, { ahead: 0 }])
  })

  test('it is renewed on the lease that the first request put it on, and given back', async () => {
    const { proxy, hf } = await proxied()
    const other = await hf.mutex('other', TTL).acquire()
    const lost = proxy.loseNextReply({ match: (bytes) => bytes.includes(keyOf('lost')) })
    const held = await hf.mutex('lost', TTL).acquire({ waitMs: 30_000 })
    expect(await lost).toBe(true)
    // Renewed from the lease it was put on first, for longer than that would last by itself.
    const end = performance.now() + 8_000
    while (performance.now() < end) {
      held.assertHeld()
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
    expect((await lineOf(hf, 'lost')).holders).toMatchObject([{ token: held.token }])
    expect(await held.release()).toBe(true)
    const rival = await open()
    expect(await rival.mutex('lost', TTL).tryAcquire()).not.toBeNull()
    other.assertHeld()
  })

  test('a key that nobody wants, on a lease that other holds keep alive, is removed', async () => {
    const { proxy, hf } = await proxied()
    const client = rawClient(url)
    const other = await hf.mutex('keeper', TTL).acquire()
    const { lease } = (await client.range({ key: keyOf('keeper') })).kvs[0] ?? { lease: 0n }
    const lost = proxy.loseNextReply({ match: (bytes) => bytes.includes(keyOf('doubted')) })
    await (await hf.mutex('doubted', TTL).acquire({ waitMs: 30_000 })).release()
    expect(await lost).toBe(true)
    // As the first request would make it, were it carried out long after its client had given it up.
    const value = Buffer.from(`{"id":"${'f'.repeat(32)}","ttlMs":5000,"data":{}}`)
    await client.put({ key: keyOf('doubted'), lease, value })
    const rival = await open()
    await (await rival.mutex('doubted', TTL).acquire({ waitMs: 30_000 })).release()
    other.assertHeld()
  })

  test('a place that was broken meanwhile is not met again, and weighs until its lease is over', async () => {
    const hf = await open()
    const held = await hf.mutex('broken', { ttlMs: 10_000 }).acquire()
    expect(await hf.break('broken')).toBe(1)
    expect(await lossOf(held)).toBeInstanceOf(LockLostError)
    expect(await (await open()).mutex('broken').tryAcquire()).toBeNull()
  })
})
