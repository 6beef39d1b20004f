/** Opens a Redis store by its URL: connected and looked at, so that what can't work is said at once. */
import type { HoldfastOptions } from '../../core/options.ts'
import type { Driver } from '../../driver.ts'
import { redis } from './index.ts'
import type { RedisOptions } from './options.ts'

export async function openRedisUrl(url: string, options: HoldfastOptions): Promise<Driver> {
  const own: RedisOptions = {
    ...(options.prefix === undefined ? {} : { prefix: options.prefix }),
    ...(options.connectTimeoutMs === undefined ? {} : { connectTimeoutMs: options.connectTimeoutMs }),
  }
  const driver = redis(url, own)
  try {
    await driver.open()
  } catch (error) {
    await driver.close()
    throw error
  }
  return driver
}
