import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type FaultProxy, faultProxy } from '../../src/testbed/proxy.ts'
import { redisAsk } from '../../src/testbed/redis.ts'
import { requireServers, skipped } from '../../src/testbed/require.ts'
import { type Testbed, testbed } from '../../src/testbed/testbed.ts'

describe.skipIf(skipped('redis'))('the fault proxy in front of a real redis-server', () => {
  let bed: Testbed
  const proxies: FaultProxy[] = []

  beforeAll(async () => {
    await requireServers(['redis'])
    bed = await testbed()
  })

  afterAll(async () => {
    for (const proxy of proxies) await proxy.close()
    await bed?.close()
  })

  async function before(port: number): Promise<FaultProxy> {
    const proxy = await faultProxy({ port })
    proxies.push(proxy)
    return proxy
  }

  test('a lost reply is that of a request that took effect, every time', async () => {
    const server = await bed.redis()
    const proxy = await before(server.port)
    for (let i = 1; i <= 50; i++) {
      const lost = proxy.loseNextReply({ match: (bytes) => bytes.includes('INCR') })
      await expect(redisAsk(proxy.port, '', ['INCR', 'n'])).rejects.toMatchObject({ code: 'ECONNRESET' })
      expect(await lost).toBe(true)
      expect(await redisAsk(proxy.port, '', ['GET', 'n'])).toBe(`$${String(i).length}\r\n${i}\r\n`)
    }
  })

  test('held towards the server, a request has no effect until heal', async () => {
    const server = await bed.redis()
    const proxy = await before(server.port)
    await proxy.set({ toServer: 'hold' })
    const late = redisAsk(proxy.port, '', ['SET', 'k', 'late'])
    await expect.poll(() => proxy.counts.heldBytes).toBeGreaterThan(0)
    expect(await redisAsk(server.port, '', ['SET', 'k', 'first', 'NX'])).toBe('+OK\r\n')
    await proxy.heal()
    expect(await late).toBe('+OK\r\n')
  })

  test('a replica behind it lags as long as it is told', async () => {
    const primary = await bed.redis()
    const proxy = await before(primary.port)
    const replica = await bed.redis({ replicaof: { port: proxy.port } })
    const linked = (): Promise<string> => redisAsk(replica.port, '', ['INFO', 'replication'])
    await expect.poll(linked, { timeout: 30_000 }).toContain('master_link_status:up')
    await proxy.set({ toClient: 'hold' })
    await redisAsk(primary.port, '', ['SET', 'lock', 'mine'])
    await expect.poll(() => proxy.counts.heldBytes).toBeGreaterThan(0)
    expect(await redisAsk(replica.port, '', ['GET', 'lock'])).toBe('$-1\r\n')
    await proxy.heal()
    await expect.poll(() => redisAsk(replica.port, '', ['GET', 'lock']), { timeout: 30_000 }).toContain('mine')
  })
})
