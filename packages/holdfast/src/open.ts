/** Turns a URL into an instance: the scheme picks the driver, which is loaded only then. */
import { shown } from './contract/check.ts'
import { UsageError } from './contract/errors.ts'
import { checkInstanceOptions, type HoldfastOptions } from './contract/options.ts'
import type { Driver } from './contract/driver.ts'
import { type Holdfast, makeInstance } from './holdfast.ts'
import { parseStoreUrl, type StoreUrl } from './store-url.ts'
import { STORES } from './stores/registry.ts'
import type { StoreOpener } from './stores/shared/opener.ts'

const SILENCE_MS = 60_000

/**
 * Opens a store and gives the locks on it.
 * @param store a URL such as `redis://localhost:6379` or `memory:`, or a driver from one of the subpaths. Default:
 * `sqlite:`, the file that all processes of this user share.
 */
export async function holdfast(
  store: string | URL | Driver = 'sqlite:',
  options: HoldfastOptions = {},
): Promise<Holdfast> {
  if (isDriver(store)) {
    if (options.heartbeat === 'worker') {
      throw new UsageError("heartbeat 'worker' needs a store given by URL: a worker can't use a client of this thread")
    }
    if (options.prefix !== undefined) {
      throw new UsageError("prefix is the driver's own option: give it to the driver, or give the store by URL")
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
    throw new UsageError("heartbeat 'worker' can't be had on memory: its locks belong to this thread")
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
  const opener = STORES.find(({ schemes }) => schemes.includes(read.url.scheme)) as StoreOpener
  return { driver: await opener.open(read.url, read.options), options: read.options }
}

function readStore(
  store: string,
  given: HoldfastOptions,
): { readonly url: StoreUrl; readonly options: HoldfastOptions } {
  const url = parseStoreUrl(store, STORES)
  // What was given in code wins over what stands in the URL.
  const options: HoldfastOptions = { ...url.options, ...given }
  checkInstanceOptions(options)
  return { url, options }
}

function isDriver(store: unknown): store is Driver {
  return typeof store === 'object' && store !== null && 'enter' in store && 'traits' in store
}
