/** What the etcd driver takes: a URL, or options that name the members. */
import { checkKeys, checkOneOf, checkWhole, shown } from '../../contract/check.ts'
import { UsageError } from '../../contract/errors.ts'
import type { Runtime } from '../../contract/runtime.ts'
import { parseStoreUrl, type StoreUrl } from '../../store-url.ts'
import { tlsFiles } from '../shared/tls-files.ts'
import { system } from '../../system.ts'
import type { EtcdClientOptions, EtcdTls } from '../../clients/etcd/index.ts'
import { checkPrefix } from './keys.ts'
import { store as opener } from './open.ts'

/** Options of `etcd`: where etcd is, and how to talk to it. */
export interface EtcdOptions {
  /**
   * `etcd://[user:password@]h1:2379,h2`, or `etcds://…` for TLS. The query may have `layout`, `prefix`,
   * `connectTimeoutMs`, and `ca`, `cert` and `key`: files of certificates and a key. Either this, or `endpoints` with
   * `user` and `password`.
   */
  readonly url?: string | URL
  /** `http://host:2379` or `https://host:2379`, at least one; the port defaults to 2379. */
  readonly endpoints?: readonly string[]
  /** With `password`, if the cluster has authentication enabled. Default none. */
  readonly user?: string
  /** With `user`. Default none. */
  readonly password?: string
  /** Certificates and keys for TLS. Default: the system's authorities. */
  readonly tls?: EtcdTls
  /** The beginning of all keys. Default 'holdfast'; 1 to 128 bytes, without a part named line, cell, key or bell. */
  readonly prefix?: string
  /**
   * 'line' (default): first come, first served. 'key': one key per lock, for tries; there is no queue, and only
   * mutexes. 'go': shared with `etcdctl lock` and etcd's Go library; only mutexes, with names as they are.
   */
  readonly layout?: EtcdLayout
  /** How long a request may take. Default 5 000; 1 to 600 000. */
  readonly timeoutMs?: number
  /** Clocks, for tests. Default: the real ones. */
  readonly runtime?: Pick<Runtime, 'now' | 'wallNow'>
}

/** How locks are laid out in keys. The layouts don't see each other, so use a lock in one of them only. */
export type EtcdLayout = 'line' | 'key' | 'go'

const LAYOUTS: readonly EtcdLayout[] = ['line', 'key', 'go']

export interface EtcdSettings {
  readonly layout: EtcdLayout
  readonly client: EtcdClientOptions
  readonly prefix: string
  readonly timeoutMs: number
  readonly runtime: Pick<Runtime, 'now' | 'wallNow'>
}

/** The options of Holdfast that concern the store itself. */
const OF_THE_STORE = ['prefix', 'connectTimeoutMs']

const KEYS = ['url', 'endpoints', 'user', 'password', 'tls', 'prefix', 'layout', 'timeoutMs', 'runtime']
const TIMEOUT_MS = 5_000

export function resolveEtcd(given: string | URL | EtcdOptions): EtcdSettings {
  const options: EtcdOptions = typeof given === 'string' || given instanceof URL ? { url: given } : given
  checkKeys('etcd options', options, KEYS)
  const { url, runtime = system } = options
  if (url !== undefined && (options.endpoints ?? options.user ?? options.password) !== undefined) {
    throw new UsageError('etcd options: give either url, or endpoints with user and password')
  }
  const store = url === undefined ? undefined : readUrl(String(url))
  const { layout = 'line' } = { ...store?.settings, ...options }
  const tls = options.tls ?? (store === undefined ? undefined : tlsFiles(store, 'etcd', 'etcds'))
  const timeoutMs = options.timeoutMs ?? store?.options.connectTimeoutMs ?? TIMEOUT_MS
  checkWhole('timeoutMs', timeoutMs, 1, 600_000)
  const access = store === undefined ? options : readAddress(store.scheme, store.rest)
  const { endpoints, user, password } = access
  if (endpoints === undefined) throw new UsageError('etcd options: url or endpoints must be given')
  const prefix = checkPrefix(options.prefix ?? store?.options.prefix ?? 'holdfast')
  return {
    layout: checkOneOf('layout', layout, LAYOUTS),
    client: {
      endpoints,
      timeoutMs,
      ...(user === undefined ? {} : { user }),
      ...(password === undefined ? {} : { password }),
      ...(tls === undefined ? {} : { tls }),
    },
    prefix,
    timeoutMs,
    runtime,
  }
}

function readUrl(url: string): StoreUrl {
  const store = parseStoreUrl(url, [opener])
  const stray = Object.keys(store.options).find((name) => !OF_THE_STORE.includes(name))
  if (stray === undefined) return store
  throw new UsageError(`${stray} is no option of the etcd store: give it to holdfast(), or give holdfast() the URL`)
}

/**
 * Reads `//[user:password@]h1[:port],h2[:port]`. An error does not repeat the text, because it may contain a password.
 */
export function readAddress(scheme: string, rest: string): Pick<EtcdOptions, 'endpoints' | 'user' | 'password'> {
  const match = /^\/\/(?:([^@/]*)@)?([^@/]+)\/?$/.exec(rest)
  if (match === null) {
    throw new UsageError('an etcd URL must look like etcd://[user:password@]host[:2379],host2; this one does not')
  }
  const [, secret, hosts = ''] = match
  const http = scheme === 'etcds' ? 'https' : 'http'
  const endpoints = hosts.split(',').map((host) => `${http}://${host}`)
  if (secret === undefined) return { endpoints }
  const [user = '', password, ...more] = secret.split(':')
  if (user === '' || password === undefined || more.length > 0) {
    throw new UsageError('an etcd URL with a user needs user:password@, with : @ and / in them percent-encoded')
  }
  return { endpoints, user: decode('user', user), password: decode('password', password) }
}

function decode(what: string, text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    // The cause contains no text of the URL, but says nothing more either.
    if (error instanceof URIError) throw new UsageError(`the ${what} in the etcd URL is not percent-encoded UTF-8`)
    throw new UsageError(`the ${what} in the etcd URL can't be read: ${shown(error)}`)
  }
}
