/** Opens a Redis store by its URL: connected and looked at, so that what can't work is said at once. */
import { UsageError } from '../../core/errors.ts'
import type { HoldfastOptions } from '../../core/options.ts'
import type { Driver } from '../../driver.ts'
import type { StoreUrl } from '../../store-url.ts'
import { redis } from './index.ts'
import type { RedisOptions } from './options.ts'

export async function openRedisUrl(url: StoreUrl, options: HoldfastOptions): Promise<Driver> {
  const own: RedisOptions = {
    ...(options.prefix === undefined ? {} : { prefix: options.prefix }),
    ...(options.connectTimeoutMs === undefined ? {} : { connectTimeoutMs: options.connectTimeoutMs }),
    // Which keys there may be is known to src/open.ts; all of them are numbers.
    ...Object.fromEntries(Object.entries(url.settings).map(([key, text]) => [key, wholeOf(key, text)])),
  }
  const driver = redis(`${url.scheme}:${url.rest}`, own)
  try {
    await driver.open()
  } catch (error) {
    await driver.close()
    throw error
  }
  return driver
}

function wholeOf(key: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new UsageError(`${key} in the store URL must be a whole number, given ${JSON.stringify(text)}`)
}
