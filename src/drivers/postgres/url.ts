/** Opens the store that a `postgres://` URL names, with the options of Holdfast and those of its own query. */
import type { HoldfastOptions } from '../../core/options.ts'
import type { Driver } from '../../driver.ts'
import type { StoreUrl } from '../../store-url.ts'
import { postgres, type PostgresOptions } from './index.ts'
import { loadPg } from './pg-session.ts'

export async function postgresFromUrl(url: StoreUrl, given: HoldfastOptions): Promise<Driver> {
  const { schema, listenUrl, connections, sslmode } = url.settings
  const options: PostgresOptions = {
    ...(given.prefix === undefined ? {} : { prefix: given.prefix }),
    ...(given.connectTimeoutMs === undefined ? {} : { timeoutMs: given.connectTimeoutMs }),
    ...(schema === undefined ? {} : { schema }),
    ...(listenUrl === undefined ? {} : { listenUrl: listenUrl === 'false' ? false : listenUrl }),
    ...(connections === undefined ? {} : { connections: Number(connections) }),
  }
  const query = sslmode === undefined ? '' : `?sslmode=${encodeURIComponent(sslmode)}`
  // A missing package is told now, not at the first lock.
  await loadPg()
  return postgres(`postgres:${url.rest}${query}`, options)
}
