/**
 * Real servers for tests, torture and lab: started on free loopback ports in a temporary folder, and gone afterwards.
 */
import { join } from 'node:path'
import { Bed, type Everywhere, type Group } from './bed.ts'
import { Authority, type Identity } from './certificates.ts'
import { type ClusterOptions, startCluster } from './cluster.ts'
import { TestbedError } from './error.ts'
import { type EtcdOptions, startEtcd } from './etcd.ts'
import { type Found, find } from './find.ts'
import { type GaleraGroup, type GaleraOptions, startGalera } from './galera.ts'
import { foundOf, type GivenServers, givenByEnvironment } from './given.ts'
import { Janitor } from './janitor.ts'
import { type MariadbReplicaOptions, startMariadbReplica } from './mariadb-replica.ts'
import { type MariadbOptions, mariadbServer } from './mariadb.ts'
import { packagesOf, type ServerKind } from './needs.ts'
import { type PgbouncerOptions, pgbouncerServer } from './pgbouncer.ts'
import { type PostgresReplicaOptions, startPostgresReplica } from './postgres-replica.ts'
import { type PostgresOptions, postgresServer } from './postgres.ts'
import { type RedisOptions, redisServer, startRedlock } from './redis.ts'
import type { ReplicaPair } from './replica-pair.ts'
import { type SentinelGroup, type SentinelOptions, startSentinel } from './sentinel.ts'
import type { Server } from './server.ts'
import { startZookeeper, type ZookeeperOptions } from './zookeeper.ts'

export interface Testbed {
  /** The folder in which everything of this testbed lies, until `close()`. */
  readonly dir: string
  /** One Redis server, ready. */
  redis(o?: RedisOptions): Promise<Server>
  /** A primary, two replicas and three Sentinels that know each other. */
  sentinel(o?: SentinelOptions): Promise<SentinelGroup>
  /** A Redis Cluster of three primaries and three replicas. */
  cluster(o?: ClusterOptions): Promise<Group>
  /** `count` (default 3, 1 … 9) independent Redis servers. */
  redlock(count?: number, o?: RedisOptions): Promise<Group>
  /** `count` (default 1, 1 … 9) etcd members. */
  etcd(count?: number, o?: EtcdOptions): Promise<Group>
  /** `count` (default 1, 1 … 9) ZooKeeper servers. */
  zookeeper(count?: number, o?: ZookeeperOptions): Promise<Group>
  /** One PostgreSQL server, ready. */
  postgres(o?: PostgresOptions): Promise<Server>
  /** One PgBouncer in front of that PostgreSQL server, ready: a transaction pooler. */
  pgbouncer(server: Server, o?: PgbouncerOptions): Promise<Server>
  /** One MariaDB server, ready; MySQL where that was given. */
  mariadb(o?: MariadbOptions): Promise<Server>
  /** A PostgreSQL primary and its streaming standby, behind one address. */
  postgresReplica(o?: PostgresReplicaOptions): Promise<ReplicaPair>
  /** A MariaDB primary and its replica, behind one address. */
  mariadbReplica(o?: MariadbReplicaOptions): Promise<ReplicaPair>
  /** `count` (default 3, 1 … 9) nodes of a Galera cluster, all of them taking writes. */
  galera(count?: number, o?: GaleraOptions): Promise<GaleraGroup>
  /** A certificate for this name, signed by an authority of this testbed: for `tls` of its servers, and for clients. */
  certificate(name: string): Promise<Identity>
  /** Stops everything and removes the folder. Idempotent. */
  close(): Promise<void>
}

/**
 * Opens a testbed; it starts nothing yet. Whatever becomes of this process, all that it starts will be stopped.
 * @param given servers to start instead of those of this machine; default: what HOLDFAST_TEST_SERVERS names
 * @param everywhere what every server is given; default nothing
 */
export async function testbed(given?: GivenServers, everywhere?: Everywhere): Promise<Testbed> {
  const servers = given ?? (await givenByEnvironment())
  const janitor = await Janitor.open()
  const known = new Map<ServerKind, Found>()
  for (const [kind, server] of Object.entries(servers)) {
    known.set(kind as ServerKind, foundOf(kind as ServerKind, server))
  }
  const bed = new Bed(
    janitor,
    async (kind) => {
      const found = known.get(kind) ?? (await findOrSay(kind))
      known.set(kind, found)
      return found
    },
    everywhere,
  )
  let closing: Promise<void> | undefined
  let authority: Authority | undefined
  return {
    dir: janitor.dir,
    redis: async (o) => started(await redisServer(bed, o)),
    sentinel: (o) => startSentinel(bed, o),
    cluster: (o) => startCluster(bed, o),
    redlock: (count = 3, o = {}) => startRedlock(bed, count, o),
    etcd: (count = 1, o = {}) => startEtcd(bed, count, o),
    zookeeper: (count = 1, o = {}) => startZookeeper(bed, count, o),
    postgres: async (o) => started(await postgresServer(bed, o)),
    pgbouncer: async (server, o) => started(await pgbouncerServer(bed, server, o)),
    mariadb: async (o) => started(await mariadbServer(bed, o)),
    postgresReplica: (o) => startPostgresReplica(bed, o),
    mariadbReplica: (o) => startMariadbReplica(bed, o),
    galera: (count = 3, o = {}) => startGalera(bed, count, o),
    certificate: (name) => (authority ??= new Authority(join(janitor.dir, 'certificates'))).issue(name),
    close: () => (closing ??= bed.close()),
  }
}

async function started(server: Server): Promise<Server> {
  await server.start()
  return server
}

async function findOrSay(kind: ServerKind): Promise<Found> {
  const found = await find(kind)
  if (found !== null) return found
  const packages = packagesOf([kind]).join(' ')
  throw new TestbedError(
    `${kind} is not installed; Debian has it in: ${packages} (npm run testbed -- ${kind} --install)`,
  )
}
