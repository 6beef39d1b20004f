/**
 * Three etcd members and three ZooKeeper servers, of which one can be cut off from the others, but not from its
 * clients.
 */
import { EtcdClient } from 'holdfast/internal'
import { PeerLinks } from '../testbed/peer-links.ts'
import { type FaultProxy, faultProxy } from '../testbed/proxy.ts'
import type { Server } from '../testbed/server.ts'
import { until } from '../testbed/until.ts'
import type { Stage } from './stage.ts'

export interface Ensemble {
  /** The server that can be cut off. */
  readonly alone: Server
  /** The other two: a majority. */
  readonly others: readonly Server[]
  cut(): Promise<void>
  /** Resolves once the other two serve without it: a request may be lost before they have a leader. */
  majority(): Promise<void>
  /** Resolves once all serve again. */
  heal(): Promise<void>
}

/** `host:port,host:port`. */
export function addresses(servers: readonly Server[]): string {
  return servers.map(({ port }) => `127.0.0.1:${port}`).join(',')
}

export function etcdClient(stage: Stage, servers: readonly Server[], timeoutMs?: number): EtcdClient {
  const endpoints = servers.map(({ port }) => `http://127.0.0.1:${port}`)
  const client = new EtcdClient({ endpoints, ...(timeoutMs === undefined ? {} : { timeoutMs }) })
  stage.defer(() => client.close())
  return client
}

interface EtcdGroup {
  readonly servers: readonly Server[]
  readonly links: PeerLinks
  readonly peerPorts: readonly number[]
}

export function etcdServers(stage: Stage): Promise<EtcdGroup> {
  return stage.shared('etcd', async () => {
    const links = new PeerLinks()
    const peerPorts: number[] = []
    const lead = (port: number): Promise<number> => {
      peerPorts.push(port)
      return links.lead(port)
    }
    stage.atEnd(() => links.close())
    const { servers } = await (await stage.bed()).etcd(3, { peerPort: lead })
    return { servers, links, peerPorts }
  })
}

/**
 * The member that can be cut off is the leader. That is the hardest case, because it must learn that it leads no more.
 */
export async function etcdEnsemble(stage: Stage): Promise<Ensemble> {
  const { servers, links, peerPorts } = await etcdServers(stage)
  const found: { server: Server; id: bigint }[] = []
  await until(
    async () => {
      for (const server of servers) {
        const { leader, header } = await etcdClient(stage, [server]).status()
        if (leader !== 0n && leader === header.memberId) found.push({ server, id: leader })
      }
      if (found.length === 0) throw new Error('nobody says so')
    },
    { what: 'an etcd member leads' },
  )
  const { server: alone, id } = found[0] as { server: Server; id: bigint }
  return {
    alone,
    others: servers.filter((server) => server !== alone),
    cut: async () => links.cut(id, peerPorts[servers.indexOf(alone)] as number),
    majority: async () => {
      const client = etcdClient(
        stage,
        servers.filter((server) => server !== alone),
        500,
      )
      const read = async (): Promise<void> => void (await client.range({ key: Buffer.from('lab') }))
      await until(read, { what: 'the other two etcd members have a leader' })
    },
    heal: async () => {
      links.heal()
      for (const server of servers) await server.ready()
    },
  }
}

interface ZookeeperGroup {
  readonly servers: readonly Server[]
  readonly proxies: readonly FaultProxy[]
}

export function zookeeperServers(stage: Stage): Promise<ZookeeperGroup> {
  return stage.shared('zookeeper', async () => {
    const proxies: FaultProxy[] = []
    stage.atEnd(() => Promise.all(proxies.map((proxy) => proxy.close())))
    const peerPort = async (from: number, _to: number, port: number, use: 'quorum' | 'election'): Promise<number> => {
      if (from !== 1 || use === 'election') return port
      const proxy = await faultProxy({ port })
      proxies.push(proxy)
      return proxy.port
    }
    const { servers } = await (await stage.bed()).zookeeper(3, { peerPort })
    return { servers, proxies }
  })
}

/**
 * The server that can be cut off is the first: of three that start together it has the lowest number, and never leads.
 */
export async function zookeeperEnsemble(stage: Stage): Promise<Ensemble> {
  const { servers, proxies } = await zookeeperServers(stage)
  const [alone, ...others] = servers as [Server, ...Server[]]
  return {
    alone,
    others,
    cut: async () => {
      for (const proxy of proxies) await proxy.set({ toServer: 'drop', toClient: 'drop' })
    },
    // One of them leads already.
    majority: () => Promise.resolve(),
    heal: async () => {
      for (const proxy of proxies) await proxy.heal()
      for (const server of servers) await server.ready()
    },
  }
}
