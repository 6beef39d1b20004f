/** How the Redis that was asked for is reached: by our own connection, by ioredis, or by the user's client. */
import { shown } from '../../contract/check.ts'
import { UnsupportedError, UsageError } from '../../contract/errors.ts'
import { type IoredisClient, IoredisTransport } from './ioredis.ts'
import { LazyTransport } from './lazy.ts'
import { type NodeRedisClient, NodeRedisTransport } from './node-redis.ts'
import type { Settings } from './options.ts'
import { OwnTransport } from './own.ts'
import { makeTopology, parseTopology, type Topology } from './topology.ts'
import type { Transport } from './transport.ts'
import type { ConnectionOptions } from '../../clients/redis/options.ts'
import { parseRedisUrl } from '../../clients/redis/url.ts'

/** A client that you have already: of ioredis (also a Cluster), or of @redis/client. It is never closed or changed. */
export type RedisClient = IoredisClient | NodeRedisClient

export function transportTo(store: unknown, settings: Settings): Transport {
  if (typeof store === 'string' || store instanceof URL) {
    const topology = parseTopology(String(store))
    checkAccess(settings, topology?.kind ?? null, topology?.tls ?? /^rediss:/i.test(String(store)))
    if (topology === null) return new OwnTransport(withTls(parseRedisUrl(store), settings.tls), settings)
    const where = topology.hosts.map(({ host, port }) => `${host}:${port}`).join(',')
    return new LazyTransport(where, topology.kind === 'sentinel', () => makeTopology(topology, settings))
  }
  if (typeof store === 'object' && store !== null) {
    checkAccess(settings, null, false)
    if (has(store, 'call', 'duplicate', 'subscribe') && 'status' in store) {
      return new IoredisTransport(store as IoredisClient, settings)
    }
    if (has(store, 'sendCommand', 'duplicate', 'subscribe') && 'isOpen' in store) {
      if ('masters' in store || 'getSentinelNode' in store) {
        throw new UnsupportedError(
          'of @redis/client only a plain client can be used: give a URL, or an ioredis Cluster',
        )
      }
      if ((store as { options?: { legacyMode?: boolean } }).options?.legacyMode === true) {
        throw new UsageError(
          'a client of redis 4 in legacy mode answers by callbacks: give a duplicate of it with legacyMode: false',
        )
      }
      return new NodeRedisTransport(store as NodeRedisClient, settings)
    }
  }
  throw new UsageError(`a Redis store must be a URL, or a client of ioredis or @redis/client, given ${shown(store)}`)
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

function has(client: object, ...methods: readonly string[]): boolean {
  return methods.every((name) => typeof (client as Record<string, unknown>)[name] === 'function')
}
