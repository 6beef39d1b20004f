/** Turns a URL into an instance: the scheme picks the driver, which is loaded only then. */
import { shown } from './core/check.ts'
import { UsageError } from './core/errors.ts'
import { checkInstanceOptions, type HoldfastOptions } from './core/options.ts'
import type { Driver } from './driver.ts'
import { type Holdfast, makeInstance } from './holdfast.ts'
import { parseStoreUrl, type StoreUrl } from './store-url.ts'

const SILENCE_MS = 60_000

type Open = (url: StoreUrl, options: HoldfastOptions) => Promise<Driver>

/** Every scheme, and how its driver is opened. */
const SCHEMES: Record<string, Open> = {
  async memory(url) {
    const { memory } = await import('./drivers/memory/index.ts')
    return memory(url.rest === '' ? {} : { name: url.rest })
  },
  async sqlite(url) {
    const { sqlite } = await import('./drivers/sqlite/index.ts')
    const driver = sqlite(url.rest === '' ? {} : { path: decodePath(url.rest) })
    // Now, and not at the first lock: a file that can't be used is told to whoever named it.
    await driver.setup()
    return driver
  },
  async mysql(url, options) {
    const { mysqlFromUrl } = await import('./drivers/mysql/url.ts')
    return mysqlFromUrl(url, options)
  },
  postgres: openPostgres,
  postgresql: openPostgres,
  zookeeper: openZookeeper,
  zookeepers: openZookeeper,
  etcd: openEtcd,
  etcds: openEtcd,
  redis: openRedis,
  rediss: openRedis,
  'redis+sentinel': openRedis,
  'redis+cluster': openRedis,
  async redlock(url, options) {
    const [{ redlock }, { opened }] = await Promise.all([
      import('./drivers/redlock/index.ts'),
      import('./drivers/redis/opened.ts'),
    ])
    return opened((own) => redlock(`${url.scheme}:${url.rest}`, own), options, url.settings)
  },
}

/** What the query may hold besides options of Holdfast: settings of that store's own. */
const REDIS_SETTINGS = ['commandTimeoutMs', 'retentionMs', 'replicas', 'replicasTimeoutMs'] as const
const SETTINGS: Record<string, readonly string[]> = {
  redis: REDIS_SETTINGS,
  rediss: REDIS_SETTINGS,
  'redis+sentinel': REDIS_SETTINGS,
  'redis+cluster': REDIS_SETTINGS,
  mysql: ['connections', 'doorbell'],
  postgres: ['schema', 'listenUrl', 'connections', 'sslmode'],
  postgresql: ['schema', 'listenUrl', 'connections', 'sslmode'],
  redlock: ['maxTtlMs', 'quorum', 'nodeTimeoutMs'],
}

async function openPostgres(url: StoreUrl, options: HoldfastOptions): Promise<Driver> {
  const { postgresFromUrl } = await import('./drivers/postgres/url.ts')
  return postgresFromUrl(url, options)
}

async function openZookeeper(url: StoreUrl, options: HoldfastOptions): Promise<Driver> {
  const [{ zookeeper }, { fromStoreUrl }] = await Promise.all([
    import('./drivers/zookeeper/index.ts'),
    import('./drivers/zookeeper/options.ts'),
  ])
  return zookeeper(fromStoreUrl(url, options))
}

async function openEtcd(url: StoreUrl, options: HoldfastOptions): Promise<Driver> {
  const { etcd } = await import('./drivers/etcd/index.ts')
  const { prefix, connectTimeoutMs } = options
  return etcd({
    url: `${url.scheme}:${url.rest}`,
    ...(prefix === undefined ? {} : { prefix }),
    ...(connectTimeoutMs === undefined ? {} : { timeoutMs: connectTimeoutMs }),
  })
}

/**
 * Opens a store and gives the locks on it.
 * @param store a URL such as `redis://localhost:6379` or `memory:`, or a driver from one of the subpaths. Default: `sqlite:`, the
 * file that all processes of this user share.
 */
export async function holdfast(
  store: string | URL | Driver = 'sqlite:',
  options: HoldfastOptions = {},
): Promise<Holdfast> {
  if (isDriver(store)) {
    if (options.heartbeat === 'worker') {
      throw new UsageError("heartbeat 'worker' needs a store given by URL: a worker can't use a client of this thread")
    }
    return makeInstance(store, options)
  }
  if (typeof store !== 'string' && !(store instanceof URL)) {
    throw new UsageError(`a store must be a URL or a driver, given ${shown(store)}`)
  }
  const opened = await openThere(String(store), options)
  try {
    return makeInstance(opened.driver, opened.options)
  } catch (error) {
    await opened.driver.close()
    throw error
  }
}

/** Opens the store in this thread, or in a worker that renews while this thread is blocked. */
async function openThere(
  store: string,
  given: HoldfastOptions,
): Promise<{ readonly driver: Driver; readonly options: HoldfastOptions }> {
  const { url, options } = readStore(store, given)
  if (options.heartbeat !== 'worker') return openDriver(store, given)
  if (url.scheme === 'memory') {
    throw new UsageError("heartbeat 'worker' can't be had on memory: its lines are this thread's own")
  }
  const { RemoteDriver } = await import('./heartbeat/remote-driver.ts')
  const { prefix, connectTimeoutMs, silenceMs = SILENCE_MS } = options
  const opening = {
    ...(prefix === undefined ? {} : { prefix }),
    ...(connectTimeoutMs === undefined ? {} : { connectTimeoutMs }),
  }
  const driver = await RemoteDriver.open(withoutHeartbeat(store), opening, silenceMs)
  return { driver, options }
}

/** The worker opens the same URL, and must not start a worker of its own. */
function withoutHeartbeat(store: string): string {
  return store.replace(/([?&])heartbeat=[^&#]*&?/, '$1').replace(/[?&]$/, '')
}

/** Opens the driver that a URL names, with the options of both the URL and the code. */
export async function openDriver(
  store: string,
  options: HoldfastOptions,
): Promise<{ readonly driver: Driver; readonly options: HoldfastOptions }> {
  const read = readStore(store, options)
  const open = SCHEMES[read.url.scheme] as Open
  return { driver: await open(read.url, read.options), options: read.options }
}

function readStore(
  store: string,
  given: HoldfastOptions,
): { readonly url: StoreUrl; readonly options: HoldfastOptions } {
  const url = parseStoreUrl(store, Object.keys(SCHEMES), SETTINGS)
  // What was given in code wins over what stands in the URL.
  const options: HoldfastOptions = { ...url.options, ...given }
  checkInstanceOptions(options)
  return { url, options }
}

async function openRedis(url: StoreUrl, options: HoldfastOptions): Promise<Driver> {
  const [{ redis }, { opened }] = await Promise.all([
    import('./drivers/redis/index.ts'),
    import('./drivers/redis/opened.ts'),
  ])
  return opened((own) => redis(`${url.scheme}:${url.rest}`, own), options, url.settings)
}

function isDriver(store: unknown): store is Driver {
  return typeof store === 'object' && store !== null && 'enter' in store && 'traits' in store
}

/** `sqlite:/abs/path.db`, `sqlite:rel.db`, and `sqlite:///abs/path.db` as a URL object may print it. */
function decodePath(rest: string): string {
  try {
    return decodeURIComponent(rest.replace(/^\/\/(?=\/)/, ''))
  } catch (error) {
    if (error instanceof URIError) throw new UsageError(`the path in ${shown(`sqlite:${rest}`)} has a wrong %-escape`)
    throw error
  }
}
