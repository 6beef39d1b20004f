/** Opens a Redlock store by its URL: connected and looked at, so that what can't work is said at once. */
import type { HoldfastOptions } from '../../core/options.ts'
import type { Driver } from '../../driver.ts'
import { redlock } from './index.ts'

/** @param settings what stands in the URL's query besides options of Holdfast. */
export async function openRedlockUrl(
  url: string,
  options: HoldfastOptions,
  settings: Readonly<Record<string, string>>,
): Promise<Driver> {
  const numbers = Object.fromEntries(Object.entries(settings).map(([key, value]) => [key, Number(value)]))
  const driver = redlock(url, {
    ...(options.prefix === undefined ? {} : { prefix: options.prefix }),
    ...(options.connectTimeoutMs === undefined ? {} : { connectTimeoutMs: options.connectTimeoutMs }),
    ...numbers,
  })
  try {
    await driver.open()
  } catch (error) {
    await driver.close()
    throw error
  }
  return driver
}
