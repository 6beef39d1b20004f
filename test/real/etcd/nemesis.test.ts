/** Laws of the conformance suite while the leader of three is killed, stopped, or cut off. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ConformanceCase, conformance } from '../../../conformance/index.ts'
import { EtcdClient, EtcdUnreachableError } from '../../../src/drivers/etcd/client/index.ts'
import { requireServers, skipped } from '../../../src/testbed/require.ts'
import type { Server } from '../../../src/testbed/server.ts'
import { type Testbed, testbed } from '../../../src/testbed/testbed.ts'
import { PeerLinks } from '../../../src/testbed/peer-links.ts'

/** Those that go through core, which asks again, and one whose processes open the store while it has no leader. */
const CASES = [
  /^60 contenders for 1 to 3 of 5 permits/,
  /^80 readers and writers/,
  /^200 contenders of two clients on a strict mutex/,
  /^abort at every step of a contended acquisition/,
  /^two that want the same locks in opposite orders/,
  /^concurrent updates of two clients lose none/,
  /^places stand in the order of their tokens/,
  /^a holder killed with -9 frees the line/,
]
const links = new PeerLinks()
const peerPorts: number[] = []
let bed: Testbed
let servers: readonly Server[]
let cases: ConformanceCase[]

beforeAll(async () => {
  if (skipped('etcd')) return
  await requireServers(['etcd'])
  bed = await testbed()
  const peerPort = async (port: number): Promise<number> => {
    peerPorts.push(port)
    return links.lead(port)
  }
  const group = await bed.etcd(3, { peerPort })
  servers = group.servers
  const suite = new URL('../../../dist/conformance/index.js', import.meta.url)
  const { conformance: makeCases } = (await import(suite.href)) as { readonly conformance: typeof conformance }
  const all = makeCases({
    module: new URL('../../../dist/src/drivers/etcd/index.js', import.meta.url),
    config: { url: group.url, timeoutMs: 15_000 },
  })
  cases = CASES.map((name) => all.find((each) => name.test(each.name)) as ConformanceCase)
})
afterAll(async () => {
  await bed?.close()
  links.close()
})

/** Its own id if it leads; null: it doesn't, or says nothing. */
async function leads({ port }: Server): Promise<bigint | null> {
  const client = new EtcdClient({ endpoints: [`http://127.0.0.1:${port}`], timeoutMs: 1_000 })
  try {
    const { leader, header } = await client.status()
    return leader === header.memberId ? leader : null
  } catch (error) {
    if (error instanceof EtcdUnreachableError) return null
    throw error
  } finally {
    await client.close()
  }
}

async function findLeader(...but: readonly Server[]): Promise<{ readonly server: Server; readonly id: bigint }> {
  const asked = servers.filter((server) => !but.includes(server))
  for (const endMs = performance.now() + 30_000; performance.now() < endMs; ) {
    for (const server of asked) {
      const id = await leads(server)
      if (id !== null) return { server, id }
    }
  }
  throw new Error('nobody leads')
}

interface Nemesis {
  readonly what: string
  strike(server: Server, id: bigint): Promise<void> | void
  heal(server: Server): Promise<void> | void
}

const NEMESES: Nemesis[] = [
  { what: 'killed', strike: (server) => server.kill(), heal: (server) => server.start() },
  { what: 'stopped', strike: (server) => server.pause(), heal: (server) => server.resume() },
  // From the other members; its clients still reach it.
  {
    what: 'cut off',
    strike: (server, id) => links.cut(id, peerPorts[servers.indexOf(server)] as number),
    heal: () => links.heal(),
  },
]

async function harass({ strike, heal }: Nemesis, done: () => void): Promise<void> {
  try {
    const { server, id } = await findLeader()
    await strike(server, id)
    await findLeader(server)
    await heal(server)
    await Promise.all(servers.map((each) => each.ready()))
  } finally {
    done()
  }
}

/** False: an outage was told, which breaks no law. Anything else that goes wrong does. */
async function holds(law: ConformanceCase): Promise<boolean> {
  try {
    await law.run()
    return true
  } catch (error) {
    for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
      if ('code' in cause && (cause.code === 'HF_UNREACHABLE' || cause.code === 'HF_UNKNOWN')) return false
    }
    throw new Error(`${law.law}: ${law.name}`, { cause: error })
  }
}

describe.skipIf(skipped('etcd'))('laws hold while', () => {
  test.each(NEMESES)(
    'the leader is $what',
    async (nemesis) => {
      const over = new AbortController()
      const harassed = harass(nemesis, () => over.abort())
      const held = new Set<ConformanceCase>()
      while (!over.signal.aborted) for (const law of cases) if (await holds(law)) held.add(law)
      await harassed
      for (const law of cases) if (!held.has(law)) expect(await holds(law), law.name).toBe(true)
    },
    180_000,
  )
})
