/** Opens the store that a `mysql://` URL names, with the options of Holdfast and those of its own query. */
import { checkOneOf } from '../../core/check.ts'
import type { HoldfastOptions } from '../../core/options.ts'
import type { Driver } from '../../driver.ts'
import type { StoreUrl } from '../../store-url.ts'
import { mysql } from './index.ts'
import { loadMysql } from './session.ts'

export async function mysqlFromUrl(url: StoreUrl, given: HoldfastOptions): Promise<Driver> {
  const { connections, doorbell } = url.settings
  // A missing package is told now, not at the first lock.
  await loadMysql()
  return mysql(`mysql:${url.rest}`, {
    ...(given.prefix === undefined ? {} : { prefix: given.prefix }),
    ...(given.connectTimeoutMs === undefined ? {} : { timeoutMs: given.connectTimeoutMs }),
    ...(connections === undefined ? {} : { connections: Number(connections) }),
    ...(doorbell === undefined ? {} : { doorbell: checkOneOf('doorbell', doorbell, ['true', 'false']) === 'true' }),
  })
}
