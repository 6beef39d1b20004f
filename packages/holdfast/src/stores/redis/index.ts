/** `holdfast/redis`: locks on Redis or Valkey, by URL or by the client that you have already. */
import type { Driver } from '../../driver.ts'
import { RedisDriver } from './driver.ts'
import { type RedisOptions, resolveSettings } from './options.ts'
import { SetNxDriver } from './set-nx.ts'
import { type RedisClient, transportTo } from './transport-to.ts'

export type { RedisDriver } from './driver.ts'
export type { IoredisClient } from './ioredis.ts'
export type { NodeRedisClient } from './node-redis.ts'
export type { RedisOptions } from './options.ts'
export type { RedisClient } from './transport-to.ts'

/**
 * A store on Redis. Nothing is connected before the first use.
 * @param store `redis[s]://…`, `redis+sentinel://…`, `redis+cluster://…`, or a client.
 */
export function redis(store: string | URL | RedisClient, options?: RedisOptions): RedisDriver {
  const settings = resolveSettings(options)
  return new RedisDriver(transportTo(store, settings), settings)
}

/**
 * Locks shared with programs that use `SET key value NX PX ttl`, such as redis-py's Lock. A lock's name is the key, without
 * any prefix. No order, no tokens, no permits and no read locks: use `redis` unless you must share.
 */
export function setNx(store: string | URL | RedisClient, options?: RedisOptions): Driver {
  return new SetNxDriver(transportTo(store, resolveSettings(options)))
}

export default redis
