/**
 * `holdfast/redlock`: locks that a majority of independent Redis servers agree on, by URLs or by clients you have
 * already.
 */
import { UsageError } from '../../contract/errors.ts'
import { system } from '../../system.ts'
import { resolveSettings as resolveRedis } from '../redis/options.ts'
import { type RedisClient, transportTo } from '../redis/transport-to.ts'
import type { ConnectionOptions } from '../../clients/redis/options.ts'
import { parseRedisUrl } from '../../clients/redis/url.ts'
import { ClientWire, OwnWire } from './wires.ts'
import { RedlockDriver } from './driver.ts'
import { type Started, startDeployment } from './init.ts'
import { parseRedlockUrl, type RedlockOptions, resolveSettings, type Settings } from './options.ts'
import { Resize, type Resized } from './resize.ts'
import type { Wire } from './wire.ts'

export type { Argument as RedisArgument } from '../../clients/redis/encode.ts'
export type { RedisClient } from '../redis/transport-to.ts'
export type { RedlockDriver } from './driver.ts'
export type { Started } from './init.ts'
export type { RedlockOptions } from './options.ts'
export type { Resized } from './resize.ts'

/**
 * A store on several independent Redis servers. Nothing is connected before the first use.
 * @param stores `redlock://h1,h2,h3`, or a list of `redis[s]://` URLs and clients of ioredis or @redis/client.
 */
export function redlock(
  stores: string | URL | readonly (string | URL | RedisClient)[],
  options?: RedlockOptions,
): RedlockDriver {
  const { wires, settings } = prepare(stores, options)
  return new RedlockDriver(wires, settings, system)
}

/**
 * The first start of a deployment: afterwards its servers give votes at once. All must answer, and none may have been
 * used before: a server that lost its data has to keep quiet for one longest lease. Also `holdfast redlock init`.
 */
export async function initRedlock(
  stores: string | URL | readonly (string | URL | RedisClient)[],
  options?: RedlockOptions,
): Promise<Started> {
  const { wires, settings } = prepare(stores, options)
  return startDeployment(wires, settings, system)
}

/**
 * Changes which servers a deployment has, while clients work: takes in those of `stores` that are new, and lets go
 * those that are not among them. Each change waits for one longest lease after the one before it. It can be run again
 * if it was cut off. Also `holdfast redlock resize`.
 * @param stores the servers that there are to be.
 * @param from more servers to reach the deployment by, if most of its present ones are not among `stores`.
 */
export async function resizeRedlock(
  stores: string | URL | readonly (string | URL | RedisClient)[],
  options?: RedlockOptions & {
    readonly from?: string | URL | readonly (string | URL | RedisClient)[]
    readonly onStep?: (what: string) => void
  },
): Promise<Resized> {
  const { from, onStep, ...rest } = options ?? {}
  const { wires, settings } = prepare(stores, rest)
  const known = new Set(wires.map(({ where }) => where))
  const others = from === undefined ? [] : prepare(from, rest).wires.filter(({ where }) => !known.has(where))
  return new Resize([...wires, ...others], wires.length, settings, system, onStep ?? (() => undefined)).run()
}

export default redlock

function prepare(stores: unknown, options: RedlockOptions | undefined): { wires: Wire[]; settings: Settings } {
  const servers = targets(stores)
  const settings = resolveSettings(options, servers.length)
  const { nodeTimeoutMs } = settings
  const limits = resolveRedis({
    // A server is frozen while it is connected to: what is asked meanwhile waits, and would all be sent to it in the
    // end.
    connectTimeoutMs: Math.min(settings.connectTimeoutMs, nodeTimeoutMs),
    commandTimeoutMs: nodeTimeoutMs,
  })
  const wires: Wire[] = servers.map((server) =>
    'options' in server ? new OwnWire(server.options, limits) : new ClientWire(transportTo(server.client, limits)),
  )
  return { wires, settings }
}

type Target = { readonly options: ConnectionOptions } | { readonly client: RedisClient }

function targets(stores: unknown): Target[] {
  let servers: Target[]
  if (typeof stores === 'string' || stores instanceof URL) {
    servers = parseRedlockUrl(String(stores)).map((options) => ({ options }))
  } else if (Array.isArray(stores)) {
    servers = stores.map((store: unknown) =>
      typeof store === 'string' || store instanceof URL
        ? { options: parseRedisUrl(store) }
        : { client: store as RedisClient },
    )
  } else {
    throw new UsageError('a Redlock store must be redlock://h1,h2,h3, or a list of URLs and clients')
  }
  const seen = new Set<unknown>()
  for (const server of servers) {
    const address = 'client' in server ? clientAddress(server.client) : addressOf(server.options)
    const keys = 'client' in server ? [server.client, address] : [address]
    if (keys.some((key) => key !== null && seen.has(key))) {
      const what = address ?? 'one client'
      throw new UsageError(
        `Redlock needs independent servers, and ${what} is given twice: it would vote twice. Give each server once`,
      )
    }
    for (const key of keys) if (key !== null) seen.add(key)
  }
  return servers
}

function addressOf({ host = '127.0.0.1', port = 6379 }: { readonly host?: string; readonly port?: number }): string {
  return `${host === 'localhost' ? '127.0.0.1' : host}:${port}`
}

/**
 * Where a client goes, if it is known before it has connected; ioredis has it in its options, redis in those of its
 * socket.
 */
function clientAddress(client: RedisClient): string | null {
  const { options } = client as { readonly options?: ClientTarget }
  if (options === undefined) return null
  if (options.path !== undefined && options.path !== null) return options.path
  if (options.url !== undefined) return addressOf(parseRedisUrl(options.url))
  const { host, port } = options.socket ?? options
  return host === undefined && port === undefined ? null : addressOf({ ...(host && { host }), ...(port && { port }) })
}

interface ClientTarget {
  readonly host?: string
  readonly port?: number
  readonly path?: string | null
  readonly url?: string
  readonly socket?: { readonly host?: string; readonly port?: number }
}
