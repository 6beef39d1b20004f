/** Redis servers that are configured wrongly, each in one way. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { examine } from '../../src/doctor/doctor.ts'
import { StoreUnreachableError } from '../../src/index.ts'
import { initRedlock } from '../../src/stores/redlock/index.ts'
import { freePort } from '../../../holdfast-lab/src/testbed/port.ts'
import { faultProxy } from '../../../holdfast-lab/src/testbed/proxy.ts'
import { redisAsk } from '../../../holdfast-lab/src/testbed/redis.ts'
import { requireServers, requireTools } from '../../../holdfast-lab/src/testbed/require.ts'
import { type Testbed, testbed } from '../../../holdfast-lab/src/testbed/testbed.ts'
import { Clocks } from '../../../holdfast-lab/src/torture/backend/clock.ts'
import { findingsOf, ills } from './found.ts'

let bed: Testbed
const clocks = new Clocks()

beforeAll(async () => {
  await requireServers(['redis'])
  await requireTools(['compiler'])
  bed = await testbed()
})
afterAll(async () => {
  await clocks.close()
  await bed?.close()
})

test('a server as it should be has nothing but, maybe, its version', async () => {
  const { url } = await bed.redis({ appendonly: 'always' })
  const { 'redis.version': _, ...rest } = await ills(url)
  expect(rest).toEqual({})
  const findings = await findingsOf(url)
  expect(findings.map(({ check }) => check)).toEqual(
    expect.arrayContaining(['redis.round-trip', 'redis.clock', 'redis.eviction', 'redis.replicas', 'lock', 'cell']),
  )
})

test('eviction is a danger, and what keeps nothing, or snapshots only, forgets', async () => {
  const evicting = await bed.redis({
    appendonly: 'everysec',
    config: { maxmemory: '200mb', 'maxmemory-policy': 'allkeys-lru' },
  })
  expect(await ills(evicting.url)).toMatchObject({ 'redis.eviction': 'danger', 'redis.fsync': 'note' })
  expect(await ills((await bed.redis()).url)).toMatchObject({ 'redis.persistence': 'warning' })
  const snapshots = await bed.redis({ config: { save: '3600 1' } })
  const findings = await findingsOf(snapshots.url)
  expect(findings.find(({ check }) => check === 'redis.persistence')?.found).toContain('snapshots only')
})

test('a replica takes no locks; a primary with replicas may forget, unless locks wait for them', async () => {
  const primary = await bed.redis({ appendonly: 'always' })
  const replica = await bed.redis({ appendonly: 'always', replicaof: { port: primary.port } })
  await expect.poll(async () => redisAsk(replica.port, '', ['INFO', 'replication'])).toContain('master_link_status:up')
  expect(await ills(replica.url)).toMatchObject({ 'redis.role': 'danger', lock: 'danger' })
  expect(await ills(primary.url)).toMatchObject({ 'redis.replicas': 'warning' })
  // It stands still, so it is behind by all that the doctor has written.
  replica.pause()
  try {
    await redisAsk(primary.port, '', ['SET', 'large', 'x'.repeat(5_000)])
    const told = (await findingsOf(primary.url)).find(({ check }) => check === 'redis.replicas')
    expect(Number(/up to (\d+) bytes behind/.exec(told?.found ?? '')?.[1])).toBeGreaterThan(5_000)
  } finally {
    replica.resume()
  }
  expect(await ills(`${primary.url}?replicas=1`)).toMatchObject({ 'redis.replicas': 'note' })
})

test('a user without rights is told what could not be checked', async () => {
  const server = await bed.redis({ requirepass: 'secret' })
  const rules = ['on', '>pw', '~*', '&*', '+@all', '-config', '-info']
  await redisAsk(server.port, 'secret', ['ACL', 'SETUSER', 'app', ...rules])
  const url = `redis://app:pw@127.0.0.1:${server.port}`
  expect(await ills(url)).toEqual({ 'redis.info': 'unknown' })
  await redisAsk(server.port, 'secret', ['ACL', 'SETUSER', 'app', '+info'])
  expect(await ills(url)).toMatchObject({ 'redis.persistence': 'unknown' })
  await redisAsk(server.port, 'secret', ['ACL', 'SETUSER', 'app', '-evalsha', '-eval'])
  expect(await ills(url)).toMatchObject({ lock: 'danger' })
})

test('a clock that is off', async () => {
  const clock = await clocks.make('doctor')
  const server = await bed.redis({ appendonly: 'always', ...(clock.env === null ? {} : { env: clock.env }) })
  await clock.set(90_000)
  expect(await ills(server.url)).toMatchObject({ 'redis.clock': 'warning' })
})

test('a clock that steps while it is looked at', async () => {
  const clock = await clocks.make('steps')
  const server = await bed.redis({ appendonly: 'always', ...(clock.env === null ? {} : { env: clock.env }) })
  // Each answer takes a while, so that a step comes between two of them.
  const proxy = await faultProxy({ port: server.port })
  await proxy.set({ delayMs: 30 })
  let steps = 0
  const timer = setInterval(() => void clock.set(++steps % 2 === 0 ? 0 : 5_000), 60)
  try {
    expect(await ills(`redis://127.0.0.1:${proxy.port}`)).toMatchObject({ 'redis.clock': 'danger' })
  } finally {
    clearInterval(timer)
    await proxy.close()
  }
})

test('a server that is far away', async () => {
  const server = await bed.redis({ appendonly: 'always' })
  const proxy = await faultProxy({ port: server.port })
  try {
    await proxy.set({ delayMs: { toServer: 0, toClient: 250 } })
    expect(await ills(`redis://127.0.0.1:${proxy.port}`)).toMatchObject({ 'redis.round-trip': 'warning' })
  } finally {
    await proxy.close()
  }
})

test('a server that is not there is no finding', async () => {
  await expect(examine(`redis://127.0.0.1:${await freePort()}`)).rejects.toBeInstanceOf(StoreUnreachableError)
})

test('Sentinels: quorum and number', async () => {
  const group = await bed.sentinel()
  const before = await ills(group.url)
  expect(before['redis.sentinel']).toBeUndefined()
  expect(before).toMatchObject({ 'redis.replicas': 'warning' })
  for (const { port } of group.sentinels) await redisAsk(port, '', ['SENTINEL', 'SET', 'mymaster', 'quorum', '1'])
  expect(await ills(group.url)).toMatchObject({ 'redis.sentinel': 'warning' })
  for (const { port } of group.sentinels) await redisAsk(port, '', ['SENTINEL', 'SET', 'mymaster', 'quorum', '2'])
  expect((await ills(group.url))['redis.sentinel']).toBeUndefined()
  await group.sentinels[2]?.stop()
  expect(await ills(group.url)).toMatchObject({ 'redis.sentinel': 'warning' })
  // Those that are left forget it: two are too few.
  for (const { port } of group.sentinels.slice(0, 2)) await redisAsk(port, '', ['SENTINEL', 'RESET', 'mymaster'])
  const first = group.url.replace(`,127.0.0.1:${group.sentinels[2]?.port}`, '')
  await expect.poll(async () => (await ills(first))['redis.sentinel']).toBe('warning')
})

test('a cluster with slots that nobody serves', async () => {
  const group = await bed.cluster()
  expect((await ills(group.url))['redis.coverage']).toBeUndefined()
  for (const { port } of group.servers) {
    await redisAsk(port, '', ['CONFIG', 'SET', 'cluster-require-full-coverage', 'no'])
    await redisAsk(port, '', ['CLUSTER', 'DELSLOTS', '0'])
  }
  expect(await ills(group.url)).toMatchObject({ 'redis.coverage': 'danger' })
})

test('Redlock: one server twice, replicas of each other, one host, an even number, no common marker', async () => {
  const sound = await bed.redlock(3)
  expect(await ills(sound.url)).toMatchObject({ 'redlock.hosts': 'warning', 'redlock.marker': 'note' })
  await initRedlock(sound.url, { maxTtlMs: 1_000 })
  // The default lease is longer than the longest of this deployment: such locks are refused, others are not.
  const said = await ills(sound.url)
  expect(said).toMatchObject({ 'redlock.lease': 'warning' })
  expect(said['redlock.marker']).toBeUndefined()
  expect(said['lock']).toBeUndefined()
  expect(await ills(`${sound.url}?ttlMs=900`)).not.toHaveProperty('redlock.lease')

  const [a, b, c] = sound.servers
  expect(await ills(`redlock://127.0.0.1:${a?.port}`)).toMatchObject({ 'redlock.number': 'warning' })
  const twice = `redlock://127.0.0.1:${a?.port},localhost:${a?.port},127.0.0.1:${b?.port},127.0.0.1:${c?.port}`
  expect(await ills(twice)).toMatchObject({ 'redlock.same': 'danger', 'redlock.number': 'note' })

  const other = await bed.redlock(2)
  await initRedlock(other.url, { maxTtlMs: 1_000 })
  expect(await ills(other.url)).toMatchObject({ 'redlock.number': 'warning' })
  const mixed = `redlock://127.0.0.1:${a?.port},127.0.0.1:${b?.port},127.0.0.1:${other.servers[0]?.port}`
  expect(await ills(mixed)).toMatchObject({ 'redlock.marker': 'danger' })

  await redisAsk(other.servers[1]?.port ?? 0, '', ['CONFIG', 'SET', 'maxmemory', '100mb'])
  await redisAsk(other.servers[1]?.port ?? 0, '', ['CONFIG', 'SET', 'maxmemory-policy', 'volatile-lru'])
  expect(await ills(other.url)).toMatchObject({ 'redis.eviction': 'danger' })
  await c?.stop()
  expect(await ills(sound.url)).toMatchObject({ 'redlock.server': 'warning' })

  const replica = await bed.redis({ replicaof: { port: other.servers[0]?.port ?? 0 } })
  await expect.poll(async () => redisAsk(replica.port, '', ['INFO', 'replication'])).toContain('master_link_status:up')
  const ports = [other.servers[0]?.port, other.servers[1]?.port, replica.port]
  const copied = `redlock://${ports.map((port) => `127.0.0.1:${port}`).join()}`
  expect(await ills(copied)).toMatchObject({ 'redlock.replica': 'danger' })
})
