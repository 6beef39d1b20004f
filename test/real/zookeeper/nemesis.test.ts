/** Laws of the conformance suite while the leader of three is killed, stopped, or cut off, again and again. */
import { afterAll, beforeAll, test } from 'vitest'
import { requireServers } from '../../../src/testbed/require.ts'
import type { ConformanceCase, conformance } from '../../../conformance/index.ts'
import { Proxy } from '../zk-client/proxy.ts'
import { type Ensemble, startEnsemble, type ZkServer } from '../zk-client/server.ts'
import { say, until } from './rig.ts'

/** Those that go through core, which asks again: an outage is over sooner than a lease. */
const CASES = [
  /^60 contenders for 1 to 3 of 5 permits/,
  /^80 readers and writers/,
  /^200 contenders of two clients on a strict mutex/,
  /^abort at every step of a contended acquisition/,
  /^two that want the same locks in opposite orders/,
  /^concurrent updates of two clients lose none/,
  /^places stand in the order of their tokens/,
]
const STRIKES = 1
let ensemble: Ensemble
let cases: ConformanceCase[]
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
  const suite = new URL('../../../dist/conformance/index.js', import.meta.url)
  const { conformance: makeCases } = (await import(suite.href)) as { readonly conformance: typeof conformance }
  const all = makeCases({
    module: new URL('../../../dist/src/drivers/zookeeper/index.js', import.meta.url),
    config: { servers: ensemble.addresses, connectTimeoutMs: 20_000 },
  })
  cases = CASES.map((name) => all.find((each) => name.test(each.name)) as ConformanceCase)
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

async function harass({ strike, heal }: Nemesis, done: () => void): Promise<void> {
  try {
    for (let strikes = 0; strikes < STRIKES; strikes++) {
      const struck = await leader()
      await strike(struck)
      await leader(struck)
      await heal(struck)
      await Promise.all(ensemble.servers.map((server) => server.serving()))
    }
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

test.each(NEMESES)(
  'the leader is $what',
  async (nemesis) => {
    const over = new AbortController()
    const harassed = harass(nemesis, () => over.abort())
    const held = new Set<ConformanceCase>()
    // One after the other: all at once, they kept a starved machine from electing anybody.
    while (!over.signal.aborted) {
      for (const law of cases) if (!over.signal.aborted && (await holds(law))) held.add(law)
    }
    await harassed
    // The servers serve again; a client may still be on its way to one of them.
    for (const law of cases) if (!held.has(law)) await until(law.name, async () => ((await holds(law)) ? true : null))
  },
  180_000,
)
