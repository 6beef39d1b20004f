import { afterAll, beforeAll, expect, test } from 'vitest'
import { LockLostError, UsageError } from '../../src/contract/errors.ts'
import { etcd } from '../../src/stores/etcd/index.ts'
import { etcdGuard, proofOf } from '../../src/fence/index.ts'
import { holdfast } from '../../src/index.ts'
import { requireServers } from '../../../holdfast-lab/src/testbed/require.ts'
import { type Testbed, testbed } from '../../../holdfast-lab/src/testbed/testbed.ts'
import { pausedHolder } from './paused.ts'

let bed: Testbed
let url: string

beforeAll(async () => {
  await requireServers(['etcd'])
  bed = await testbed()
  url = (await bed.etcd(1)).url
}, 600_000)
afterAll(() => bed?.close())

test('a paused holder is refused, and nothing is lost', async () => {
  const outcome = await pausedHolder({ kind: 'etcd', target: url, store: url, ttlMs: 2_000 })
  expect(outcome).toMatchObject({ code: 'COMPARE_FAILED' })
})

test('a hold that may share its place is refused, also the first of its place', async () => {
  const store = await etcd(url)
  await using hf = await holdfast(store)
  const shared = await hf.mutex('shared').acquire()
  expect(() => etcdGuard(store, shared)).toThrow(/fairness 'strict'/)
  expect(() => store.guard(shared)).toThrow(UsageError)
  const strict = await hf.mutex('strict', { fairness: 'strict' }).acquire()
  expect(etcdGuard(store, strict).createRevision).toBe(strict.token / 1024n)
  expect(etcdGuard(store, await hf.election('e').campaign()).createRevision).toBeGreaterThan(0n)
  expect(() => etcdGuard(store, proofOf(strict) as never)).toThrow(/not its proof/)
  const reader = await hf.rwLock('rw', { fairness: 'strict' }).read.acquire()
  expect(() => etcdGuard(store, reader)).toThrow(UsageError)
  await strict.release()
  expect(() => etcdGuard(store, strict)).toThrow(LockLostError)
})
