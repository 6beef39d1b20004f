/** Laws of the conformance suite while the leader of three is killed, stopped, or cut off. */
import { afterAll, beforeAll, test } from 'vitest'
import { requireServers } from '../../../src/testbed/require.ts'
import type { ConformanceCase } from '../../../conformance/index.ts'
import { holdWhile, lawsOf } from '../harassed.ts'
import { Proxy } from '../zk-client/proxy.ts'
import { type Ensemble, startEnsemble, type ZkServer } from '../zk-client/server.ts'
import { say, until } from './rig.ts'

let ensemble: Ensemble
let laws: ConformanceCase[]
const proxies = new Map<Proxy, readonly number[]>()

beforeAll(async () => {
  await requireServers(['zookeeper'])
  ensemble = await startEnsemble({
    count: 3,
    tickMs: 200,
    lines: ['maxSessionTimeout=60000'],
    route: async (from, to, port) => {
      const proxy = await Proxy.to(port)
      proxies.set(proxy, [from, to])
      return Number(proxy.address.split(':')[1])
    },
  })
  laws = await lawsOf({
    module: new URL('../../../dist/src/drivers/zookeeper/index.js', import.meta.url),
    config: { servers: ensemble.addresses, connectTimeoutMs: 20_000 },
  })
})

afterAll(async () => {
  await ensemble?.[Symbol.asyncDispose]()
  await Promise.all([...proxies.keys()].map((proxy) => proxy[Symbol.asyncDispose]()))
})

async function leads(server: ZkServer): Promise<boolean> {
  return (await say(server, 'srvr', 'Node count:')).includes('Mode: leader')
}

async function leader(...but: readonly ZkServer[]): Promise<ZkServer> {
  return until('somebody leads', async () => {
    for (const server of ensemble.servers) if (!but.includes(server) && (await leads(server))) return server
    return null
  })
}

interface Nemesis {
  readonly what: string
  strike(server: ZkServer): Promise<void> | void
  heal(server: ZkServer): Promise<void> | void
}

/** All links of one server to the others swallow what is sent, those of votes as well; its clients still reach it. */
function isolate(server: ZkServer, swallow: boolean): void {
  const id = ensemble.servers.indexOf(server) + 1
  for (const [proxy, ends] of proxies) {
    if (!ends.includes(id)) continue
    proxy.swallow = swallow
    if (!swallow) proxy.cut()
  }
}

const NEMESES: Nemesis[] = [
  { what: 'killed', strike: (server) => server.kill(), heal: (server) => server.start() },
  { what: 'stopped', strike: (server) => server.signal('SIGSTOP'), heal: (server) => server.signal('SIGCONT') },
  { what: 'cut off', strike: (server) => isolate(server, true), heal: (server) => isolate(server, false) },
]

async function harass({ strike, heal }: Nemesis): Promise<void> {
  const struck = await leader()
  await strike(struck)
  await leader(struck)
  await heal(struck)
  await Promise.all(ensemble.servers.map((server) => server.serving()))
}

test.each(NEMESES)('the leader is $what', (nemesis) => holdWhile(laws, () => harass(nemesis)), 180_000)
