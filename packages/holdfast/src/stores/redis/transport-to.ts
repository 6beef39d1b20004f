/** How the Redis that was asked for is reached: by our own connection, by ioredis, or by the user's client. */
import { shown } from '../../core/check.ts'
import { UnsupportedError, UsageError } from '../../core/errors.ts'
import { type IoredisClient, IoredisTransport } from './ioredis.ts'
import { LazyTransport } from './lazy.ts'
import { type NodeRedisClient, NodeRedisTransport } from './node-redis.ts'
import type { Settings } from './options.ts'
import { OwnTransport } from './own.ts'
import { makeTopology, parseTopology } from './topology.ts'
import type { Transport } from './transport.ts'
import { parseRedisUrl } from './wire/url.ts'

/** A client that you have already: of ioredis (also a Cluster), or of @redis/client. It is never closed or changed. */
export type RedisClient = IoredisClient | NodeRedisClient

export function transportTo(store: unknown, settings: Settings): Transport {
  if (typeof store === 'string' || store instanceof URL) {
    const topology = parseTopology(String(store))
    if (topology === null) return new OwnTransport(parseRedisUrl(store), settings)
    const where = topology.hosts.map(({ host, port }) => `${host}:${port}`).join(',')
    return new LazyTransport(where, topology.kind === 'sentinel', () => makeTopology(topology, settings))
  }
  if (typeof store === 'object' && store !== null) {
    if (has(store, 'call', 'duplicate', 'subscribe') && 'status' in store) {
      return new IoredisTransport(store as IoredisClient, settings)
    }
    if (has(store, 'sendCommand', 'duplicate', 'subscribe') && 'isOpen' in store) {
      if ('masters' in store || 'getSentinelNode' in store) {
        throw new UnsupportedError(
          'of @redis/client only a plain client can be used: give a URL, or an ioredis Cluster',
        )
      }
      return new NodeRedisTransport(store as NodeRedisClient, settings)
    }
  }
  throw new UsageError(`a Redis store must be a URL, or a client of ioredis or @redis/client, given ${shown(store)}`)
}

function has(client: object, ...methods: readonly string[]): boolean {
  return methods.every((name) => typeof (client as Record<string, unknown>)[name] === 'function')
}
