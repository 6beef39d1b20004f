/** `redis://`, and over TLS `rediss://`: one server, a cluster, or what sentinels watch. */
import { REDIS_CLIENTS, redisClientKind } from './given.ts'
import { shown } from '../../contract/check.ts'
import { UsageError } from '../../contract/errors.ts'
import type { HoldfastOptions } from '../../contract/options.ts'
import type { StoreOpener } from '../shared/opener.ts'
import type { RedisClient } from './transport-to.ts'

export const store: StoreOpener = {
  schemes: ['redis', 'rediss', 'redis+cluster', 'rediss+cluster'],
  settings: ['layout', 'commandTimeoutMs', 'retentionMs', 'replicas', 'replicasTimeoutMs'],
  async open(url, options) {
    const { redis, setNx } = await import('./index.ts')
    const { layout = 'line', ...settings } = url.settings
    const address = `${url.scheme}:${url.rest}`
    if (layout === 'line') return opened((own) => redis(address, own), options, settings)
    if (layout === 'set-nx') return opened((own) => setNx(address, own), options, settings)
    throw new UsageError(`layout in a Redis URL must be line or set-nx, given ${shown(layout)}`)
  },
  client: {
    works: REDIS_CLIENTS,
    recognises: (client) => redisClientKind(client) !== null,
    async open(client, { prefix, connectTimeoutMs }) {
      const { redis } = await import('./index.ts')
      return redis(client as RedisClient, {
        ...(prefix === undefined ? {} : { prefix }),
        ...(connectTimeoutMs === undefined ? {} : { connectTimeoutMs }),
      })
    },
  },
}

/** Sentinels may have a user and a password of their own. */
export const sentinel: StoreOpener = {
  open: store.open,
  schemes: ['redis+sentinel', 'rediss+sentinel'],
  settings: [...store.settings, 'sentinelUsername', 'sentinelPassword'],
}

interface Openable {
  open(): Promise<void>
  close(): Promise<void>
}

/**
 * Connects at once and looks at the servers, so that what can't work is said now. `make` gets the options of both the
 * instance and the URL's query.
 * @param settings what stands in the query besides options of Holdfast: the store's open.ts knows which there may be;
 * most are numbers.
 */
export async function opened<D extends Openable>(
  make: (options: { readonly prefix?: string; readonly connectTimeoutMs?: number }) => D,
  { prefix, connectTimeoutMs }: HoldfastOptions,
  settings: Readonly<Record<string, string>>,
): Promise<D> {
  const driver = make({
    ...(prefix === undefined ? {} : { prefix }),
    ...(connectTimeoutMs === undefined ? {} : { connectTimeoutMs }),
    ...Object.fromEntries(
      Object.entries(settings).map(([key, text]) => [key, TEXTS.has(key) ? text : wholeOf(key, text)]),
    ),
  })
  try {
    await driver.open()
  } catch (error) {
    await driver.close()
    throw error
  }
  return driver
}

const TEXTS: ReadonlySet<string> = new Set(['sentinelUsername', 'sentinelPassword'])

function wholeOf(key: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new UsageError(`${key} in the store URL must be a whole number, given ${JSON.stringify(text)}`)
}
