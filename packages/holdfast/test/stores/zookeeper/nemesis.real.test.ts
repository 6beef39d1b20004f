/** Laws of the conformance suite while the leader of three is killed, stopped, or cut off. */
import { afterAll, beforeAll, test } from 'vitest'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import type { ConformanceCase } from '../../../conformance/index.ts'
import { holdWhile, lawsOf } from '../../harassed.ts'
import { Proxy } from '../../clients/zookeeper/proxy.ts'
import { Rig, say, until } from './rig.ts'

let ensemble: Rig
let laws: ConformanceCase[]
/** An election is ZooKeeper's own affair: on two busy cores, three Java machines may need several rounds of it. */
const ELECTION_MS = 100_000
const proxies = new Map<Proxy, readonly number[]>()

beforeAll(async () => {
  ensemble = await Rig.open(3, {
    tickMs: 200,
    config: { maxSessionTimeout: 60_000, syncLimit: 20 },
    peerPort: async (from, to, port) => {
      const proxy = await Proxy.to(port)
      proxies.set(proxy, [from, to])
      return Number(proxy.address.split(':')[1])
    },
  })
  laws = await lawsOf({
    module: new URL('../../../build/src/stores/zookeeper/index.js', import.meta.url),
    config: { servers: ensemble.addresses, connectTimeoutMs: 20_000 },
  })
})

afterAll(async () => {
  await ensemble?.[Symbol.asyncDispose]()
  await Promise.all([...proxies.keys()].map((proxy) => proxy[Symbol.asyncDispose]()))
})

async function leads(server: Server): Promise<boolean> {
  return (await say(server, 'srvr', 'Node count:')).includes('Mode: leader')
}

async function leader(...but: readonly Server[]): Promise<Server> {
  const answer = async (): Promise<Server | null> => {
    for (const server of ensemble.servers) if (!but.includes(server) && (await leads(server))) return server
    return null
  }
  return until('somebody leads', answer, ELECTION_MS)
}

interface Nemesis {
  readonly what: string
  strike(server: Server): Promise<void> | void
  heal(server: Server): Promise<void> | void
}

/** All links of one server to the others swallow what is sent, those of votes as well; its clients still reach it. */
function isolate(server: Server, swallow: boolean): void {
  const id = ensemble.servers.indexOf(server) + 1
  for (const [proxy, ends] of proxies) {
    if (!ends.includes(id)) continue
    proxy.swallow = swallow
    if (!swallow) proxy.cut()
  }
}

const NEMESES: Nemesis[] = [
  { what: 'killed', strike: (server) => server.kill(), heal: (server) => server.start() },
  { what: 'stopped', strike: (server) => server.pause(), heal: (server) => server.resume() },
  { what: 'cut off', strike: (server) => isolate(server, true), heal: (server) => isolate(server, false) },
]

async function harass({ strike, heal }: Nemesis): Promise<void> {
  const struck = await leader()
  await strike(struck)
  try {
    await leader(struck)
  } finally {
    // Also when nobody was elected: the next test needs all three.
    await heal(struck)
  }
  await Promise.all(ensemble.servers.map((server) => server.ready()))
}

test.each(NEMESES)('the leader is $what', (nemesis) => holdWhile(laws, () => harass(nemesis)), 300_000)
