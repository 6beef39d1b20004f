/** `holdfast/redis`: locks on Redis or Valkey, by URL or by the client that you have already. */
import { RedisDriver } from './driver.ts'
import { type RedisOptions, resolveConnecting, resolveSettings } from './options.ts'
import { SetNxDriver } from './set-nx.ts'
import { CheckedTransport } from './server-check.ts'
import { type RedisClient, transportTo } from './transport-to.ts'

export type { Argument as RedisArgument } from '../../clients/redis/encode.ts'
export type { RedisDriver } from './driver.ts'
export type { IoredisClient } from './ioredis.ts'
export type { NodeRedisClient, NodeRedisCluster, NodeRedisPool, NodeRedisSentinel } from './node-redis-routes.ts'
export type { RedisOptions } from './options.ts'
export type { SetNxDriver } from './set-nx.ts'
export type { RedisClient } from './transport-to.ts'

/** Only how the server is reached: a lock's name is the key, and nothing is put before it. */
export type SetNxOptions = Omit<RedisOptions, 'prefix' | 'retentionMs' | 'replicas' | 'replicasTimeoutMs'>

/**
 * A store on Redis. Nothing is connected before the first use.
 * @param store `redis[s]://…`, `redis[s]+sentinel://…`, `redis[s]+cluster://…`, or a client.
 */
export function redis(store: string | URL | RedisClient, options?: RedisOptions): RedisDriver {
  const settings = resolveSettings(options)
  return new RedisDriver(new CheckedTransport(transportTo(store, settings)), settings)
}

/**
 * Locks shared with programs that use `SET key value NX PX ttl`, such as redis-py's Lock. A lock's name is the key,
 * without any prefix. No order, no tokens, no permits and no read locks: use `redis` unless you must share.
 */
export function setNx(store: string | URL | RedisClient, options?: SetNxOptions): SetNxDriver {
  return new SetNxDriver(new CheckedTransport(transportTo(store, resolveConnecting(options))))
}

export default redis
