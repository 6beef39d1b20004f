/** A Redis Cluster: three primaries, each with one replica. */
import { addresses, type Bed, type Group } from './bed.ts'
import type { Identity } from './certificates.ts'
import { freePorts } from './port.ts'
import { type RedisOptions, redisAsk, redisServer } from './redis.ts'
import type { Server } from './server.ts'
import { runTool } from './tool.ts'
import { until } from './until.ts'

export interface ClusterOptions extends Omit<RedisOptions, 'requirepass' | 'replicaof'> {
  /** After this a silent node counts as failing and its replica takes over; default 1 000. */
  readonly nodeTimeoutMs?: number
}

const NODES = 6

export async function startCluster(bed: Bed, o: ClusterOptions = {}): Promise<Group> {
  const found = await bed.found('redis')
  const buses = await freePorts(NODES)
  const servers: Server[] = []
  for (const bus of buses) {
    const config = {
      'cluster-enabled': 'yes',
      'cluster-node-timeout': o.nodeTimeoutMs ?? 1_000,
      // By default the client's port + 10 000, which nobody has checked to be free.
      'cluster-port': bus,
      ...o.config,
    }
    servers.push(await redisServer(bed, { ...o, config }, 'cluster'))
  }
  await bed.startAll(servers)
  const nodes = servers.map((server) => `127.0.0.1:${server.port}`)
  const tls = o.tls === undefined ? [] : ['--tls', '--cacert', o.tls.caFile]
  const create = ['--cluster', 'create', ...nodes, '--cluster-replicas', '1', '--cluster-yes']
  await runTool(found.path('redis-cli'), [...tls, ...create])
  for (const server of servers) {
    await until(() => expectWhole(server, o.tls?.pem), { what: `${server.name} sees the whole cluster` })
  }
  return { url: `redis+cluster://${addresses(servers)}`, servers }
}

async function expectWhole(server: Server, tls: Identity['pem'] | undefined): Promise<void> {
  const info = await redisAsk(server.port, '', ['CLUSTER', 'INFO'], tls)
  const nodes = await redisAsk(server.port, '', ['CLUSTER', 'NODES'], tls)
  const replicas = nodes.match(/ (myself,)?slave .* connected/g)?.length ?? 0
  const whole = info.includes('cluster_state:ok') && info.includes('cluster_slots_ok:16384')
  if (!whole || replicas !== NODES / 2) throw new Error(`not whole yet: ${replicas} replicas`)
}
