/** The options of the driver, checked before any I/O. */
import type { ConnectionOptions } from 'node:tls'
import { checkKeys, checkOneOf, checkText, checkWhole, shown } from '../../contract/check.ts'
import { UsageError } from '../../contract/errors.ts'
import type { HoldfastOptions } from '../../contract/options.ts'
import type { Runtime } from '../../contract/runtime.ts'
import type { StoreUrl } from '../../store-url.ts'
import { tlsFiles } from '../shared/tls-files.ts'
import { type Acl, creatorAllAcl, type Identity, openAcl } from '../../clients/zookeeper/index.ts'

/** Options of `zookeeper`: where ZooKeeper is, and how to talk to it. */
export interface ZookeeperOptions {
  /** `host`, `host:port` or `[v6]:port` of the members of one ensemble; the port defaults to 2181. */
  readonly servers: readonly string[]
  /** The subtree to use; created if it is missing. Default '/'. */
  readonly chroot?: string
  /** The node above all others of Holdfast. Default 'holdfast'; 1 to 128 bytes. */
  readonly prefix?: string
  /** Who we are, such as `{ scheme: 'digest', credential: 'user:password' }`. Default none. */
  readonly identities?: readonly Identity[]
  /** Who may use the nodes that we create. Default: everybody; with `identities`, only those. */
  readonly acl?: readonly Acl[]
  /** True, or what node:tls takes. Default false. */
  readonly tls?: boolean | ConnectionOptions
  /** How long the first connection may take. Default 5 000; 1 to 600 000. */
  readonly connectTimeoutMs?: number
  /**
   * 'holdfast' (default), or 'curator': a lock's name is the path of an InterProcessMutex of Apache Curator, and both
   * exclude each other. Then there are only mutexes, and no list of all locks.
   */
  readonly layout?: 'holdfast' | 'curator'
  /** Clocks, for tests. Default: the real ones. */
  readonly runtime?: Pick<Runtime, 'now' | 'wallNow'>
}

const PREFIX = 'holdfast'
const LAYOUTS = ['holdfast', 'curator'] as const
const CONNECT_TIMEOUT_MS = 5_000

export type ResolvedOptions = Required<Omit<ZookeeperOptions, 'runtime'>>

const KEYS = [
  ...['servers', 'chroot', 'prefix', 'identities', 'acl', 'tls', 'connectTimeoutMs', 'layout', 'runtime'],
] as const

export function resolveOptions(given: ZookeeperOptions): ResolvedOptions {
  checkKeys('zookeeper options', given, KEYS)
  const { servers, chroot = '/', prefix = PREFIX, identities = [], tls = false } = given
  if (!Array.isArray(servers) || servers.length === 0) {
    throw new UsageError(`servers must be a list of at least one address, given ${shown(servers)}`)
  }
  if (checkText('prefix', prefix, 128) === '') throw new UsageError('prefix must be 1 to 128 bytes, given ""')
  return {
    servers,
    chroot,
    prefix,
    identities,
    acl: given.acl ?? (identities.length > 0 ? creatorAllAcl : openAcl),
    tls,
    connectTimeoutMs: checkWhole('connectTimeoutMs', given.connectTimeoutMs ?? CONNECT_TIMEOUT_MS, 1, 600_000),
    layout: checkOneOf('layout', given.layout ?? 'holdfast', LAYOUTS),
  }
}

/** What the URL says, and those options beside it that concern the store. */
export function fromStoreUrl(url: StoreUrl, options: HoldfastOptions): ZookeeperOptions {
  const { prefix, connectTimeoutMs, runtime } = options
  const { layout } = url.settings
  return {
    ...parseAddress(url.rest),
    tls: tlsFiles(url, 'zookeeper', 'zookeepers') ?? url.scheme === 'zookeepers',
    ...(layout === undefined ? {} : { layout: checkOneOf('layout', layout, LAYOUTS) }),
    ...(prefix === undefined ? {} : { prefix }),
    ...(connectTimeoutMs === undefined ? {} : { connectTimeoutMs }),
    ...(runtime === undefined ? {} : { runtime }),
  }
}

/**
 * Reads what stands behind the scheme: `//[user:password@]h1:2181,h2/chroot`. User and password are a digest identity.
 */
function parseAddress(rest: string): Pick<ZookeeperOptions, 'servers' | 'chroot' | 'identities'> {
  const match = /^\/\/(?:([^/]*)@)?([^/@]+)(\/.*)?$/.exec(rest)
  if (match === null) {
    // Do not show the text: in a text that can't be read nobody knows which part is a password.
    throw new UsageError('a ZooKeeper URL is zookeeper://[user:password@]host:2181,host2/chroot; the given one is not')
  }
  const [, user, hosts = '', path = '/'] = match
  const chroot = decode(path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path, 'chroot')
  const servers = hosts.split(',').filter((host) => host !== '')
  if (user === undefined) return { servers, chroot }
  return { servers, chroot, identities: [{ scheme: 'digest', credential: decode(user, 'user and password') }] }
}

/** Do not show the text: it may be the password. */
function decode(text: string, what: string): string {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    if (error instanceof URIError) throw new UsageError(`the ${what} in the ZooKeeper URL must be percent-encoded`)
    throw error
  }
}
