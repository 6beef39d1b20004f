/** Laws of the conformance suite while the leader of three is killed, stopped, or cut off. */
import { afterAll, beforeAll, describe, test } from 'vitest'
import type { ConformanceCase } from '../../../conformance/index.ts'
import { EtcdClient, EtcdUnreachableError } from '../../../src/clients/etcd/index.ts'
import { requireServers, skipped } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import { PeerLinks } from '../../../../holdfast-lab/src/testbed/peer-links.ts'
import { holdWhile, lawsOf } from '../../harassed.ts'

/** Its processes open the store while it has no leader. */
const OPENING = /^a holder killed with -9 frees the line/
const links = new PeerLinks()
const peerPorts: number[] = []
let bed: Testbed
let servers: readonly Server[]
let laws: ConformanceCase[]

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
  const module = new URL('../../../build/src/stores/etcd/index.js', import.meta.url)
  laws = await lawsOf({ module, config: { url: group.url, timeoutMs: 15_000 } }, [OPENING])
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

/** An election is etcd's own affair: on two busy cores, three members may need several rounds of it. */
const ELECTION_MS = 100_000

async function findLeader(...but: readonly Server[]): Promise<{ readonly server: Server; readonly id: bigint }> {
  const asked = servers.filter((server) => !but.includes(server))
  for (const endMs = performance.now() + ELECTION_MS; performance.now() < endMs; ) {
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

async function harass({ strike, heal }: Nemesis): Promise<void> {
  const { server, id } = await findLeader()
  await strike(server, id)
  try {
    await findLeader(server)
  } finally {
    // Also when nobody was elected: the next test needs all three.
    await heal(server)
  }
  await Promise.all(servers.map((each) => each.ready()))
}

describe.skipIf(skipped('etcd'))('laws hold while', () => {
  test.each(NEMESES)('the leader is $what', (nemesis) => holdWhile(laws, () => harass(nemesis)), 300_000)
})
