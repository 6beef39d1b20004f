/**
 * `holdfast/ioredis`: locks on Redis over your ioredis client (4, 5 or 6, also a Cluster), and nothing else: for
 * bundles.
 */
import { UsageError } from '../../contract/errors.ts'
import { shapeOf } from '../shared/shape.ts'
import { RedisDriver } from './driver.ts'
import { REDIS_CLIENTS, redisClientKind } from './given.ts'
import { type IoredisClient, IoredisTransport } from './ioredis.ts'
import { type RedisOptions, resolveSettings } from './options.ts'
import { CheckedTransport } from './server-check.ts'

export type { RedisDriver } from './driver.ts'
export type { IoredisClient } from './ioredis.ts'
export type { RedisOptions } from './options.ts'

/** A store on Redis over an ioredis client, which stays yours. Default prefix and limits as `redis` has them. */
export function ioredis(client: IoredisClient, options?: RedisOptions): RedisDriver {
  if (redisClientKind(client) !== 'ioredis') {
    throw new UsageError(
      `ioredis() needs a client of ioredis, given ${shapeOf(client)}; redis() takes ${REDIS_CLIENTS}`,
    )
  }
  const settings = resolveSettings(options)
  return new RedisDriver(new CheckedTransport(new IoredisTransport(client, settings)), settings)
}

export default ioredis
