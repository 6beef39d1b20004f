/** Servers that are too old: Redis 6.0 and ZooKeeper 3.4 of an older Debian, unpacked beside this machine's own. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { requireServers, skipped } from '../../../holdfast-lab/src/testbed/require.ts'
import { type Testbed, testbed } from '../../../holdfast-lab/src/testbed/testbed.ts'
import { olderServers } from '../../../../scripts/matrix/older.js'
import { findingsOf, ills } from './found.ts'

let bed: Testbed

beforeAll(async () => {
  await requireServers(['redis', 'zookeeper'])
  bed = await testbed(await olderServers())
}, 300_000)
afterAll(() => bed?.close())

test.skipIf(skipped('redis'))('a Redis that is too old for the scripts', async () => {
  const { url } = await bed.redis({ appendonly: 'always' })
  expect(await ills(url)).toEqual({ 'redis.version': 'danger', lock: 'danger' })
})

test.skipIf(skipped('redis'))('servers of a Redlock that are too old', async () => {
  const { url } = await bed.redlock(3)
  expect(await ills(url)).toMatchObject({ 'redis.version': 'danger' })
})

test.skipIf(skipped('zookeeper'))('a ZooKeeper that may keep a node of a session that ended', async () => {
  const { url } = await bed.zookeeper(1)
  const version = (await findingsOf(url)).find(({ check }) => check === 'zookeeper.version')
  expect(version).toMatchObject({ severity: 'danger', found: expect.stringMatching(/ has version 3\.4\.[\w.-]+$/) })
})
