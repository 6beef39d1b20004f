/**
 * A server that may evict keys gives no votes: lines expire and the marker does not, so `volatile-*` would take just
 * the votes.
 */
import { Redis } from 'ioredis'
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { initRedlock, redlock, type RedlockDriver } from '../../../src/stores/redlock/index.ts'
import { StoreUnreachableError } from '../../../src/index.ts'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import { until } from '../../../../holdfast-lab/src/testbed/until.ts'
import { ask, entry, fresh, urlOf } from './rig.ts'

let bed: Testbed
let servers: Server[]
let drivers: RedlockDriver[] = []
let clients: Redis[] = []
const warnings: string[] = []
const listen = (warning: Error & { code?: string }): void => void warnings.push(warning.code ?? '')

beforeAll(() => requireServers(['redis']))

beforeEach(async () => {
  bed = await testbed()
  servers = [...(await bed.redlock(3)).servers]
  warnings.length = 0
  process.on('warning', listen)
})

afterEach(async () => {
  process.off('warning', listen)
  for (const driver of drivers) await driver.close()
  for (const client of clients) client.disconnect()
  drivers = []
  clients = []
  await bed.close()
})

function overUrl(): RedlockDriver {
  const driver = redlock(urlOf(servers))
  drivers.push(driver)
  return driver
}

function overClients(): RedlockDriver {
  const own = servers.map(({ port }) => new Redis(port))
  clients.push(...own)
  const driver = redlock(own)
  drivers.push(driver)
  return driver
}

for (const [way, connect] of [
  ['by URL', overUrl],
  ["over a user's clients", overClients],
] as const) {
  test(`${way}: servers that were told to evict give no votes, and their owner is warned`, async () => {
    await initRedlock(urlOf(servers), { maxTtlMs: 1_000 })
    const driver = connect()
    expect(await driver.enter(entry(fresh(), { ttlMs: 1_000 }), false)).not.toBeNull()
    for (const server of servers.slice(0, 2)) await ask(server, 'CONFIG', 'SET', 'maxmemory-policy', 'volatile-lru')
    await until(
      async () => {
        const refused = driver.enter(entry(fresh(), { ttlMs: 1_000 }), false)
        await expect(refused).rejects.toThrow(StoreUnreachableError)
        await expect(refused).rejects.toThrow(/maxmemory-policy to noeviction/)
      },
      { what: 'it is noticed' },
    )
    await until(async () => expect(warnings).toContain('HF_EVICTION'), { what: 'the warning' })
    for (const server of servers.slice(0, 2)) await ask(server, 'CONFIG', 'SET', 'maxmemory-policy', 'noeviction')
    const at = performance.now()
    const mine = entry(fresh(), { ttlMs: 1_000 })
    await until(async () => expect(await driver.enter(mine, false)).not.toBeNull(), { what: 'votes are given again' })
    // What was evicted meanwhile nobody can tell.
    expect(performance.now() - at).toBeGreaterThan(500)
  })
}

test('votes that were evicted make no second holder', async () => {
  await initRedlock(urlOf(servers), { maxTtlMs: 60_000 })
  const [a, b] = [overUrl(), overUrl()]
  const line = fresh()
  expect(await a.enter(entry(line, { ttlMs: 60_000 }), false)).not.toBeNull()
  for (const server of servers) {
    await ask(server, 'CONFIG', 'SET', 'maxmemory-policy', 'volatile-lru')
    await ask(server, 'CONFIG', 'SET', 'maxmemory', '1mb')
    await until(async () => expect(await ask(server, 'EXISTS', `holdfast:{${line}}`)).toBe(':0\r\n'), {
      what: 'the vote is evicted',
    })
    await ask(server, 'CONFIG', 'SET', 'maxmemory', '0')
  }
  // A server looks at its policy ten times a second.
  await new Promise((resolve) => setTimeout(resolve, 300))
  for (let n = 0; n < 5; n++) {
    await expect(b.enter(entry(line, { ttlMs: 60_000 }), false)).rejects.toThrow(StoreUnreachableError)
  }
})

test('a first start on such a server is refused', async () => {
  await ask(servers[1] as Server, 'CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
  await expect(initRedlock(urlOf(servers))).rejects.toThrow(/maxmemory-policy to noeviction/)
})
