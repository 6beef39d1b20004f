/** Recognises the user's own Redis client by its members: no package of one is imported. */
import { UsageError } from '../../contract/errors.ts'
import { hasMethods } from '../shared/shape.ts'

/** What works, for an error that says so. */
export const REDIS_CLIENTS = 'a client of ioredis 4 to 6, or of redis (@redis/client) 4 to 6'

/**
 * Which package a client is of; null: of none that a Redis store can use. UsageError: of a version or mode that it
 * can't.
 */
export function redisClientKind(client: unknown): 'ioredis' | 'node-redis' | null {
  if (hasMethods(client, 'call', 'subscribe', 'connect', 'disconnect') && 'status' in client && 'options' in client) {
    // A Cluster has nodes, and some versions of it no `duplicate`.
    if (!hasMethods(client, 'duplicate') && !hasMethods(client, 'nodes')) return null
    const { options } = client as { readonly options: object }
    // A default of every client since ioredis 4.
    if (!hasMethods(client, 'nodes') && !('maxRetriesPerRequest' in options)) return refuseOld('ioredis 3 or older')
    return 'ioredis'
  }
  if (hasMethods(client, 'send_command', 'duplicate') && 'server_info' in client) return refuseOld('redis 2 or 3')
  if (!hasMethods(client, 'sendCommand', 'connect') || !('isOpen' in client || 'multi' in client)) return null
  if ((client as { readonly options?: { readonly legacyMode?: boolean } }).options?.legacyMode === true) {
    throw new UsageError(
      'a client of redis 4 in legacy mode answers by callbacks: give a duplicate of it with legacyMode: false',
    )
  }
  const isOther = ['nodeClient', 'getSentinelNode', 'totalClients'].some((member) => member in client)
  // What listens must let the process end, which a client can since 4.3.
  if (!isOther && !hasMethods(client, 'unref', 'subscribe')) return refuseOld('redis before 4.3')
  return 'node-redis'
}

function refuseOld(what: string): never {
  throw new UsageError(`given a client of ${what}, which is too old: give ${REDIS_CLIENTS}`)
}
