/** A session that no place lives by is ended after a while, and nobody notices. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openAcl, ZooKeeperClient } from '../../../src/clients/zookeeper/index.ts'
import { ZookeeperDriver } from '../../../src/stores/zookeeper/driver.ts'
import { LineLayout } from '../../../src/stores/zookeeper/layout.ts'
import { makeInstance } from '../../../src/holdfast.ts'
import { system } from '../../../src/system.ts'
import { Rig, until } from './rig.ts'

let rig: Rig

beforeAll(async () => {
  rig = await Rig.open(1)
})
afterAll(() => rig?.[Symbol.asyncDispose]())

test('idle sessions end; holds keep theirs; locks work before, between and after', async () => {
  const clients: ZooKeeperClient[] = []
  const driver = new ZookeeperDriver({
    layout: new LineLayout('idle'),
    base: '/idle',
    acl: openAcl,
    runtime: system,
    connect: (sessionTimeoutMs) => {
      const client = new ZooKeeperClient({ servers: rig.addresses, sessionTimeoutMs, heartbeat: 'sync', renew: true })
      clients.push(client)
      return client
    },
    sessionMs: { min: 800, max: 4_000 },
    idleMs: 100,
  })
  const hf = makeInstance(driver, { ttlMs: 2_000 })
  const held = await hf.mutex('kept').acquire()
  await (await hf.mutex('short', { ttlMs: 1_000 }).acquire()).release()
  await until('the session of the short one has ended', () => (clients.at(-1)?.state === 'closed' ? true : null))
  expect(clients[0]?.state).toBe('connected')
  // Asked for at every moment of the sweep's period, an ending session is never in the way.
  for (let round = 0; round < 30; round++) {
    await (await hf.mutex('short', { ttlMs: 1_000 }).acquire()).release()
    await new Promise((resolve) => setTimeout(resolve, 90 + round))
  }
  expect(clients.length).toBeGreaterThan(2)
  expect(held.state).toBe('held')
  expect(await held.release()).toBe(true)
  await hf.close()
  expect(clients.every(({ state }) => state === 'closed')).toBe(true)
})
