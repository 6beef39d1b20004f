/** Every adapter. A new one is a file here and a line below. */
import { asyncMutex } from './async-mutex.js'
import { etcd3 } from './etcd3.js'
import { etcdKey, etcdWatchedKey } from './etcd-key.js'
import { local, overIoredis, overIoredis5, strict } from './holdfast.js'
import { flake, sapphire, uuidV7 } from './id-makers.js'
import { nodeAlone } from './node-alone.js'
import { nodeZookeeperClient } from './node-zookeeper-client.js'
import { promiseChain } from './promise-chain.js'
import { properLockfile } from './proper-lockfile.js'
import { rawEtcd } from './raw-etcd.js'
import { rawMysql } from './raw-mysql.js'
import { rawPostgres } from './raw-postgres.js'
import { rawRedlock } from './raw-redlock.js'
import { rawIoredis, rawPush } from './raw-redis.js'
import { redisSemaphore, redlock4, redlock5, redlockUniversal, sesamecare, verrou } from './redis-peers.js'
import { leastSqlite, rawSqlite } from './raw-sqlite.js'
import { flexibleMemory, flexibleRedis } from './rate-limiter-flexible.js'
import { rawZookeeper } from './raw-zookeeper.js'
import { mysqlSession, postgresSession, rawAdvisory, rawGetLock } from './sessions.js'
import { verrouMysql, verrouPostgres } from './verrou.js'
import { redlockPackage } from './redlock.js'
import { zkRecipe } from './zk-recipe.js'

/** @type {readonly import('../adapter.ts').Adapter[]} */
export const adapters = [
  local,
  strict,
  overIoredis,
  overIoredis5,
  promiseChain,
  asyncMutex,
  rawSqlite,
  leastSqlite,
  properLockfile,
  rawEtcd,
  etcd3,
  etcdKey,
  etcdWatchedKey,
  rawIoredis,
  rawPush,
  redlock4,
  redlock5,
  sesamecare,
  redisSemaphore,
  verrou,
  redlockUniversal,
  rawRedlock,
  redlockPackage,
  rawPostgres,
  rawAdvisory,
  postgresSession,
  verrouPostgres,
  rawMysql,
  rawGetLock,
  mysqlSession,
  verrouMysql,
  rawZookeeper,
  nodeZookeeperClient,
  zkRecipe,
  flexibleMemory,
  flexibleRedis,
  sapphire,
  flake,
  uuidV7,
  nodeAlone,
]
