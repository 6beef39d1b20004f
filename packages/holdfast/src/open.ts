/** Turns a URL into an instance. The scheme of the URL names the driver; only that driver is loaded. */
import { UsageError } from './contract/errors.ts'
import { checkInstanceOptions, type HoldfastOptions } from './contract/options.ts'
import type { Driver } from './contract/driver.ts'
import { checkForDriver, isDriver } from './given-driver.ts'
import { type Holdfast, makeInstance } from './holdfast.ts'
import { parseStoreUrl, type StoreUrl } from './store-url.ts'
import { STORES } from './stores/registry.ts'
import type { MysqlPool } from './stores/mysql/index.ts'
import type { PgPool, PostgresSql } from './stores/postgres/index.ts'
import type { RedisClient } from './stores/redis/index.ts'
import type { StoreOpener } from './stores/shared/opener.ts'
import { seen } from './stores/shared/seen.ts'

const SILENCE_MS = 60_000

/** A client that you already have. Holdfast uses the client as it is, and never closes it. */
export type StoreClient = RedisClient | PgPool | PostgresSql | MysqlPool

/**
 * Opens a store and gives the locks on it.
 * @param store a URL such as `redis://localhost:6379` or `memory:`; a client of ioredis, redis, pg (a Pool), postgres
 * or mysql2 (a pool); or a driver from one of the subpaths. Default: `sqlite:`, a file that all processes of this user
 * share.
 */
export async function holdfast(
  store: string | URL | StoreClient | Driver = 'sqlite:',
  options: HoldfastOptions = {},
): Promise<Holdfast> {
  if (typeof store === 'string' || store instanceof URL) return overUrl(String(store), options)
  if (isDriver(store)) {
    checkForDriver(options)
    return makeInstance(store, options)
  }
  const opener = STORES.find(({ client }) => client?.recognises(store))?.client
  if (opener === undefined) throw noStore(store)
  checkInstanceOptions(options)
  const { prefix: _, ...rest } = options
  checkForDriver(rest)
  return makeInstance(await opener.open(store, options), options)
}

function noStore(given: unknown): UsageError {
  const works = STORES.flatMap(({ client }) => client?.works ?? [])
  const hint = Array.isArray(given) ? '; for several Redis servers, give redlock([…]) of holdfast/redlock' : ''
  return new UsageError(
    `a store must be a URL, a driver, or one of these clients: ${works.join('; ')}. Given ${seen(given)}${hint}`,
  )
}

async function overUrl(store: string, options: HoldfastOptions): Promise<Holdfast> {
  const opened = await openThere(store, options)
  try {
    return makeInstance(opened.driver, opened.options)
  } catch (error) {
    await opened.driver.close()
    throw error
  }
}

/** Opens the store in this thread, or in a worker that keeps renewing while this thread is blocked. */
async function openThere(
  store: string,
  given: HoldfastOptions,
): Promise<{ readonly driver: Driver; readonly options: HoldfastOptions }> {
  const { url, options } = readStore(store, given)
  if (options.heartbeat !== 'worker') return openDriver(store, given)
  if (url.scheme === 'memory') {
    throw new UsageError("heartbeat 'worker' does not work with memory: its locks belong to this thread")
  }
  const { RemoteDriver } = await import('./worker/remote-driver.ts')
  const { prefix, connectTimeoutMs, silenceMs = SILENCE_MS } = options
  const opening = {
    ...(prefix === undefined ? {} : { prefix }),
    ...(connectTimeoutMs === undefined ? {} : { connectTimeoutMs }),
  }
  const driver = await RemoteDriver.open(withoutHeartbeat(store), opening, silenceMs)
  return { driver, options }
}

/** The worker opens the same URL, and must not start another worker. */
function withoutHeartbeat(store: string): string {
  return store.replace(/([?&])heartbeat=[^&#]*&?/, '$1').replace(/[?&]$/, '')
}

/** Opens the driver that a URL names. Options come from both the URL and the code. */
export async function openDriver(
  store: string,
  options: HoldfastOptions,
): Promise<{ readonly driver: Driver; readonly options: HoldfastOptions }> {
  const read = readStore(store, options)
  const opener = STORES.find(({ schemes }) => schemes.includes(read.url.scheme)) as StoreOpener
  return { driver: await opener.open(read.url, read.options), options: read.options }
}

function readStore(
  store: string,
  given: HoldfastOptions,
): { readonly url: StoreUrl; readonly options: HoldfastOptions } {
  const url = parseStoreUrl(store, STORES)
  // Options given in code win over options in the URL.
  const options: HoldfastOptions = { ...url.options, ...given }
  checkInstanceOptions(options)
  return { url, options }
}
