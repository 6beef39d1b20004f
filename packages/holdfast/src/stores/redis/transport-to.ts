/** How the Redis that was asked for is reached: by our own connection, by ioredis, or by the user's client. */
import { UsageError } from '../../contract/errors.ts'
import { seen } from '../shared/seen.ts'
import { REDIS_CLIENTS, redisClientKind } from './given.ts'
import { type IoredisClient, IoredisTransport } from './ioredis.ts'
import { LazyTransport } from './lazy.ts'
import { NodeRedisTransport } from './node-redis.ts'
import type { NodeRedisClient, NodeRedisCluster, NodeRedisPool, NodeRedisSentinel } from './node-redis-routes.ts'
import type { Settings } from './options.ts'
import { OwnTransport } from './own.ts'
import { makeTopology, parseTopology, type Topology } from './topology.ts'
import type { Transport } from './transport.ts'
import type { ConnectionOptions } from '../../clients/redis/options.ts'
import { parseRedisUrl } from '../../clients/redis/url.ts'

/**
 * A client that you have already: of ioredis (also a Cluster), or of redis (also a pool, a cluster or sentinels). It is
 * never closed or changed.
 */
export type RedisClient = IoredisClient | NodeRedisClient | NodeRedisPool | NodeRedisCluster | NodeRedisSentinel

export function transportTo(store: unknown, settings: Settings): Transport {
  if (typeof store === 'string' || store instanceof URL) {
    const topology = parseTopology(String(store))
    checkAccess(settings, topology?.kind ?? null, topology?.tls ?? /^rediss:/i.test(String(store)))
    if (topology === null) return new OwnTransport(withTls(parseRedisUrl(store), settings.tls), settings)
    const where = topology.hosts.map(({ host, port }) => `${host}:${port}`).join(',')
    return new LazyTransport(where, topology.kind === 'sentinel', () => makeTopology(topology, settings))
  }
  const kind = redisClientKind(store)
  if (kind === null) throw new UsageError(`a Redis store must be a URL, or ${REDIS_CLIENTS}, given ${seen(store)}`)
  checkAccess(settings, null, false)
  return kind === 'ioredis'
    ? new IoredisTransport(store as IoredisClient, settings)
    : new NodeRedisTransport(store as NodeRedisClient, settings)
}

/** What would be ignored is refused: whoever gives a certificate or a password believes that it is used. */
function checkAccess(settings: Settings, kind: Topology['kind'] | null, isSecure: boolean): void {
  if (settings.tls !== undefined && !isSecure) {
    throw new UsageError('tls is for a URL that begins with rediss: your own client has options of its own')
  }
  if (settings.sentinelPassword !== undefined && kind !== 'sentinel') {
    throw new UsageError('sentinelPassword is for a URL that begins with redis+sentinel: or rediss+sentinel:')
  }
}

function withTls(target: ConnectionOptions, tls: Settings['tls']): ConnectionOptions {
  return tls === undefined ? target : { ...target, tls }
}
