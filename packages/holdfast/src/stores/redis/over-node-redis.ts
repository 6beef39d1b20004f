/** `holdfast/node-redis`: locks on Redis over your client of redis (4, 5 or 6), and nothing else: for bundles. */
import { UsageError } from '../../contract/errors.ts'
import { seen } from '../shared/seen.ts'
import { RedisDriver } from './driver.ts'
import { REDIS_CLIENTS, redisClientKind } from './given.ts'
import { NodeRedisTransport } from './node-redis.ts'
import type { NodeRedisClient, NodeRedisCluster, NodeRedisPool, NodeRedisSentinel } from './node-redis-routes.ts'
import { type RedisOptions, resolveSettings } from './options.ts'
import { CheckedTransport } from './server-check.ts'

export type { RedisDriver } from './driver.ts'
export type { NodeRedisClient, NodeRedisCluster, NodeRedisPool, NodeRedisSentinel } from './node-redis-routes.ts'
export type { RedisOptions } from './options.ts'

/**
 * A store on Redis over a client, a pool, a cluster or sentinels of redis, which stays yours. Default prefix and limits
 * as `redis` has them.
 */
export function nodeRedis(
  client: NodeRedisClient | NodeRedisPool | NodeRedisCluster | NodeRedisSentinel,
  options?: RedisOptions,
): RedisDriver {
  if (redisClientKind(client) !== 'node-redis') {
    throw new UsageError(`nodeRedis() needs a client of redis, given ${seen(client)}; redis() takes ${REDIS_CLIENTS}`)
  }
  const settings = resolveSettings(options)
  return new RedisDriver(new CheckedTransport(new NodeRedisTransport(client, settings)), settings)
}

export default nodeRedis
