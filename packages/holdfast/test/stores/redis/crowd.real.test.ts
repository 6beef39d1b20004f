/** Many clients work on one line while its servers are failed over and re-sharded: all go on, and tokens rise. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Holdfast, holdfast } from '../../../src/index.ts'
import { redisAsk } from '../../../../holdfast-lab/src/testbed/redis.ts'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'

let bed: Testbed
const open: Holdfast[] = []

beforeAll(async () => {
  await requireServers(['redis'])
  bed = await testbed()
})

afterAll(async () => {
  for (const hf of open) await hf.close()
  await bed?.close()
})

interface Crowd {
  /** Tokens in the order of the holds. */
  readonly tokens: readonly bigint[]
  /** Settles when there were so many holds more. */
  more(count: number): Promise<void>
  /** How many were inside together with another. */
  readonly overlaps: () => number
  end(): Promise<void>
}

async function crowd(url: string, line: string): Promise<Crowd> {
  const crew = await Promise.all(Array.from({ length: 3 }, () => holdfast(url)))
  open.push(...crew)
  const tokens: bigint[] = []
  const over = new AbortController()
  let [inside, overlaps] = [0, 0]
  const working = crew.map(async (hf) => {
    const lock = hf.mutex(line, { fairness: 'strict', ttlMs: 30_000 })
    while (!over.signal.aborted) {
      const held = await lock.acquire()
      if (++inside > 1) overlaps++
      tokens.push(held.token)
      await Promise.resolve()
      inside--
      await held.release()
    }
  })
  // Told by `end`; without this a failure meanwhile would be nobody's.
  for (const one of working) one.catch(() => over.abort())
  return {
    tokens,
    async more(count) {
      const until = tokens.length + count
      await expect.poll(() => tokens.length >= until || over.signal.aborted, { timeout: 60_000 }).toBe(true)
    },
    overlaps: () => overlaps,
    async end() {
      over.abort()
      await Promise.all(working)
    },
  }
}

const rises = (tokens: readonly bigint[]): boolean =>
  tokens.every((token, i) => i === 0 || token > (tokens[i - 1] ?? 0n))

test('Sentinel: the primary dies under load', async () => {
  const group = await bed.sentinel()
  const working = await crowd(group.url, 'busy')
  await working.more(50)
  await group.primary.kill()
  await working.more(50)
  await working.end()
  // Who holds at the moment of the failover may be forgotten by it; tokens are what is promised.
  expect(rises(working.tokens)).toBe(true)
  expect(working.overlaps()).toBeLessThanOrEqual(1)
}, 90_000)

test('Cluster: the slot of the line moves to and fro under load', async () => {
  const group = await bed.cluster()
  const working = await crowd(group.url, 'busy')
  const [one] = group.servers as [Server]
  const slot = (await redisAsk(one.port, '', ['CLUSTER', 'KEYSLOT', 'holdfast:{busy}'])).slice(1).trim()
  const ports = group.servers.map(({ port }) => port)
  const owners: number[] = []
  const strangers: number[] = []
  for (const port of ports) {
    const role = await redisAsk(port, '', ['ROLE'])
    if (!role.includes('master')) continue
    const isOwner = (await redisAsk(port, '', ['GET', 'holdfast:{busy}'])).startsWith('$')
    ;(isOwner ? owners : strangers).push(port)
  }
  const [from = 0, to = 0] = [owners[0], strangers[0]]
  await working.more(50)
  await move(slot, from, to)
  await working.more(50)
  await move(slot, to, from)
  await working.more(50)
  await working.end()
  expect(rises(working.tokens)).toBe(true)
  expect(working.overlaps()).toBe(0)
}, 90_000)

async function move(slot: string, from: number, to: number): Promise<void> {
  const at = async (port: number, ...command: string[]): Promise<string> => {
    const said = await redisAsk(port, '', command)
    if (said.startsWith('-')) throw new Error(`${command.join(' ')}: ${said}`)
    return said
  }
  const idOf = async (port: number): Promise<string> =>
    /[0-9a-f]{40}/.exec(await at(port, 'CLUSTER', 'MYID'))?.[0] ?? ''
  const [source, target] = [await idOf(from), await idOf(to)]
  await at(to, 'CLUSTER', 'SETSLOT', slot, 'IMPORTING', source)
  await at(from, 'CLUSTER', 'SETSLOT', slot, 'MIGRATING', target)
  // The line first: until its queue has followed, the servers say TRYAGAIN.
  for (const key of ['holdfast:{busy}', 'holdfast:{busy}:q']) {
    await at(from, 'MIGRATE', '127.0.0.1', String(to), key, '0', '5000')
  }
  await at(to, 'CLUSTER', 'SETSLOT', slot, 'NODE', target)
  await at(from, 'CLUSTER', 'SETSLOT', slot, 'NODE', target)
}
