/** Starts a store of each kind for a run. */
import { chmod } from 'node:fs/promises'
import type { GivenServers } from '../../testbed/given.ts'
import { type Testbed, testbed } from '../../testbed/testbed.ts'
import { temporaryFolder } from '../folder.ts'
import type { Backend } from './backend.ts'
import { Cables } from './cable.ts'
import { Clocks } from './clock.ts'
import { Hardships } from './hardships.ts'

export const SPAWNS = [
  'sqlite',
  'redis',
  'sentinel',
  'cluster',
  'redlock',
  'etcd',
  'zookeeper',
  'postgres',
  'mysql',
  'postgres-replica',
  'mysql-replica',
  'galera',
] as const

export type Spawn = (typeof SPAWNS)[number]

export function isSpawn(name: string): name is Spawn {
  return (SPAWNS as readonly string[]).includes(name)
}

type Start = (bed: Testbed, clocks: Clocks) => Promise<Backend>

const STARTS: Readonly<Record<Exclude<Spawn, 'sqlite'>, () => Promise<Start>>> = {
  redis: async () => (await import('./redis.ts')).redisBackend,
  sentinel: async () => (await import('./sentinel.ts')).sentinelBackend,
  cluster: async () => (await import('./cluster.ts')).clusterBackend,
  redlock: async () => (await import('./redlock.ts')).redlockBackend,
  etcd: async () => (await import('./etcd.ts')).etcdBackend,
  zookeeper: async () => (await import('./zookeeper.ts')).zookeeperBackend,
  postgres: async () => (await import('./postgres.ts')).postgresBackend,
  mysql: async () => (await import('./mysql.ts')).mysqlBackend,
  'postgres-replica': async () => (await import('./postgres-replica.ts')).postgresReplicaBackend,
  'mysql-replica': async () => (await import('./mysql-replica.ts')).mysqlReplicaBackend,
  galera: async () => (await import('./galera.ts')).galeraBackend,
}

/** Stores whose servers are copies of each other: what befalls one of them alone is what failover shows. */
const COPIES: ReadonlySet<Spawn> = new Set(['sentinel', 'cluster', 'postgres-replica', 'mysql-replica', 'galera'])

/** Its `close` also stops the servers. `newer`: what servers are upgraded to. */
export async function spawnBackend(kind: Spawn, newer: GivenServers = {}): Promise<Backend> {
  if (kind === 'sqlite') return (await import('./sqlite.ts')).sqliteBackend()
  const start = await STARTS[kind]()
  const tools = temporaryFolder('hardships')
  await chmod(tools.path, 0o755)
  const hardships = await Hardships.open(tools.path, newer)
  const bed = await testbed(undefined, COPIES.has(kind) ? {} : hardships.everywhere)
  const clocks = new Clocks(bed.dir)
  const cables = await Cables.open()
  const closeAll = async (): Promise<void> => {
    cables.close()
    await bed.close()
    tools.remove()
  }
  try {
    const backend = await start(bed, clocks)
    const { sufferers } = backend
    return {
      ...backend,
      deeds: { ...backend.deeds, ...(sufferers === undefined ? {} : hardships.deeds(sufferers)) },
      lacks: {
        ...backend.lacks,
        ...cables.lacks,
        ...(sufferers === undefined ? {} : hardships.lacks(sufferers)),
      },
      // Every other client goes through proxies, which can be slow or selective; the others by cables, which can be
      // pulled.
      gate: async (at) => {
        const isWired = cables.lacks.unplug === undefined && at % 2 === 0
        return isWired ? { url: backend.url, proxies: [], cable: await cables.lay() } : backend.gate(at)
      },
      async close() {
        await backend.close()
        await closeAll()
      },
    }
  } catch (error) {
    await closeAll()
    throw error
  }
}
