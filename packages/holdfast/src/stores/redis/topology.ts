/** `redis[s]+sentinel://` and `redis[s]+cluster://`: parsed here, carried by ioredis, which is loaded only then. */
import { UsageError } from '../../contract/errors.ts'
import { type IoredisClient, IoredisTransport } from './ioredis.ts'
import type { Settings } from './options.ts'
import { loadPeer } from '../shared/peer.ts'
import { parseRedisUrl } from '../../clients/redis/url.ts'

export interface Topology {
  readonly kind: 'sentinel' | 'cluster'
  /** To the servers, and to the Sentinels. */
  readonly tls: boolean
  readonly hosts: readonly { readonly host: string; readonly port: number }[]
  readonly username?: string
  readonly password?: string
  /** Of Sentinel: the name that it knows the primary by. */
  readonly master: string
  readonly db: number
}

interface Ioredis {
  readonly Redis: new (options: object) => IoredisClient
  readonly Cluster: new (nodes: readonly object[], options: object) => IoredisClient
}

const SHAPES = {
  sentinel: 'redis[s]+sentinel://[user:pass@]h1:26379,h2/master[/db]',
  cluster: 'redis[s]+cluster://[user:pass@]h1:6379,h2',
}

/** Reads one of the two URLs; null for any other scheme. No error repeats any part of it. */
export function parseTopology(url: string): Topology | null {
  const match = /^redis(s?)\+(sentinel|cluster):\/\/(?:([^/?#]*)@)?([^/?#@]*)(\/[^?#]*)?$/.exec(url)
  if (match === null) {
    const kind = /^rediss?\+(sentinel|cluster):/.exec(url)?.[1] as Topology['kind'] | undefined
    if (kind === undefined) return null
    throw new UsageError(`the Redis URL can't be used. It must look like ${SHAPES[kind]}`)
  }
  const [, secure, kind, login, addresses = '', path = ''] = match as unknown as [
    string,
    string,
    Topology['kind'],
    string?,
    string?,
    string?,
  ]
  const wrong = (why: string): UsageError =>
    new UsageError(`the Redis URL can't be used: ${why}. It must look like ${SHAPES[kind]}`)
  const hosts = addresses.split(',').map((address) => {
    // One address at a time is an ordinary URL, and is judged as one.
    const { host = '', port } = parseRedisUrl(`redis://${address}`)
    return { host, port: port ?? (kind === 'sentinel' ? 26_379 : 6_379) }
  })
  const { username, password } = parseRedisUrl(`redis://${login === undefined ? '' : `${login}@`}h`)
  const [master = '', db = '0', ...more] = path.slice(1).split('/').map(decode)
  if (kind === 'sentinel' && master === '') throw wrong('it does not name the primary')
  if (kind === 'cluster' && path !== '' && path !== '/') throw wrong('a cluster has no databases')
  if (!/^\d{1,9}$/.test(db) || more.length > 0) throw wrong('its path is not a name and the number of a database')
  return {
    kind,
    tls: secure === 's',
    hosts,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    master,
    db: Number(db),
  }
}

/** The text is not shown: it may be a part of a password. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    if (error instanceof URIError)
      throw new UsageError("the path of the Redis URL can't be used: it has a wrong %-escape")
    throw error
  }
}

/** Opens nothing by itself: ioredis connects in the background. */
export async function makeTopology(topology: Topology, settings: Settings): Promise<IoredisTransport> {
  const { Redis, Cluster } = loadIoredis()
  const { kind, tls, hosts, username, password, master, db } = topology
  const { sentinelUsername, sentinelPassword } = settings
  const secure = tls ? (settings.tls ?? {}) : undefined
  const login = { ...(username === undefined ? {} : { username }), ...(password === undefined ? {} : { password }) }
  const options = {
    ...login,
    ...(secure === undefined ? {} : { tls: secure }),
    connectTimeout: settings.connectTimeoutMs,
    // An unanswered command fails soon and core asks again with the same id, rather than wait for a server that may not
    // come back.
    maxRetriesPerRequest: 2,
    reconnectOnError: (error: Error) => (error.message.startsWith('READONLY') ? 1 : false),
  }
  const backoff = (times: number): number => Math.min(times * 50, 1_000)
  const client =
    kind === 'sentinel'
      ? new Redis({
          ...options,
          sentinels: hosts,
          name: master,
          ...(secure === undefined ? {} : { enableTLSForSentinelMode: true, sentinelTLS: secure }),
          ...(sentinelUsername === undefined ? {} : { sentinelUsername }),
          ...(sentinelPassword === undefined ? {} : { sentinelPassword }),
          db,
          sentinelRetryStrategy: backoff,
          retryStrategy: backoff,
        })
      : new Cluster(hosts, {
          redisOptions: options,
          // A certificate names a host: its address, once looked up, would match none.
          ...(secure === undefined ? {} : { dnsLookup: asItIs }),
          clusterRetryStrategy: backoff,
          slotsRefreshTimeout: 2_000,
          slotsRefreshInterval: 0,
        })
  const where = hosts.map(({ host, port }) => `${host}:${port}`).join(',')
  return new IoredisTransport(client, settings, { where: kind === 'sentinel' ? `${where}/${master}` : where })
}

function asItIs(address: string, callback: (error: null, address: string) => void): void {
  callback(null, address)
}

function loadIoredis(): Ioredis {
  return loadPeer('ioredis', 'Redis Sentinel and Cluster need the package ioredis') as Ioredis
}
