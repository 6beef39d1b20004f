/** The options of a Redis store: checked once, before any I/O. */
import type { ConnectionOptions as TlsOptions } from 'node:tls'
import { checkKeys, checkText, checkWhole } from '../../contract/check.ts'
import { UsageError } from '../../contract/errors.ts'

/** Where Redis is, and how to talk to it. */
export interface RedisOptions {
  /** What all keys and channels begin with. Default 'holdfast'; 1 to 128 bytes, without braces. */
  readonly prefix?: string
  /** How long the first connection may take. Default 5 000; 1 to 600 000. Only for a URL. */
  readonly connectTimeoutMs?: number
  /** How long one command may take, waiting for a connection included. Default 5 000; 1 to 600 000. Only for a URL. */
  readonly commandTimeoutMs?: number
  /**
   * How long the last token of an empty line is remembered, at least; at most three times as long. Default 60 000; 1
   * 000 to 86 400 000. A forgotten line's token is the server's time: by so much may that clock step back and none
   * falls.
   */
  readonly retentionMs?: number
  /**
   * How many replicas must have a grant, and every renewal, before it counts. Default 0; 0 to 100. It narrows the gap
   * that a failover tears, and does not close it: another replica than those that confirmed may be promoted.
   */
  readonly replicas?: number
  /** How long they may take. Default 1 000; 1 to 60 000, and always less than `commandTimeoutMs`. */
  readonly replicasTimeoutMs?: number
  /** Options of node:tls, such as `ca`, for a URL that begins with `rediss`. Default: those of Node. */
  readonly tls?: TlsOptions
  /** User and password that the Sentinels want; those in the URL are for the servers. Default: none. */
  readonly sentinelUsername?: string
  /** For the Sentinels themselves. Default none. */
  readonly sentinelPassword?: string
}

type Access = 'tls' | 'sentinelUsername' | 'sentinelPassword'
export type Settings = Readonly<Required<Omit<RedisOptions, Access>> & Pick<RedisOptions, Access>>

const CONNECTING = ['connectTimeoutMs', 'commandTimeoutMs', 'tls', 'sentinelUsername', 'sentinelPassword']
const KEYS = ['prefix', ...CONNECTING, 'retentionMs', 'replicas', 'replicasTimeoutMs']

/** What a driver that has keys of its users' own can make use of: no prefix, no tokens, no replicas. */
export function resolveConnecting(options: RedisOptions | undefined): Settings {
  return resolveSettings(checkKeys('set-nx options', options, CONNECTING) as RedisOptions)
}

export function resolveSettings(options: RedisOptions | undefined): Settings {
  checkKeys('Redis options', options, KEYS)
  const {
    prefix = 'holdfast',
    connectTimeoutMs = 5_000,
    commandTimeoutMs = 5_000,
    retentionMs = 60_000,
    replicas = 0,
  } = options ?? {}
  const { replicasTimeoutMs = Math.max(1, Math.min(1_000, commandTimeoutMs - 1)) } = options ?? {}
  checkText('prefix', prefix, 128)
  if (prefix === '' || /[{}]/.test(prefix)) {
    throw new UsageError(`prefix must be 1 to 128 bytes without braces, given ${JSON.stringify(prefix)}`)
  }
  const { tls, sentinelUsername, sentinelPassword } = options ?? {}
  if (tls !== undefined && (typeof tls !== 'object' || tls === null)) {
    throw new UsageError('tls must be the options of node:tls, such as { ca }')
  }
  if (sentinelUsername !== undefined && sentinelPassword === undefined) {
    throw new UsageError('sentinelUsername needs a sentinelPassword')
  }
  return Object.freeze({
    prefix,
    ...(tls === undefined ? {} : { tls }),
    ...(sentinelUsername === undefined
      ? {}
      : { sentinelUsername: checkText('sentinelUsername', sentinelUsername, 1_024) }),
    ...(sentinelPassword === undefined
      ? {}
      : { sentinelPassword: checkText('sentinelPassword', sentinelPassword, 1_024) }),
    connectTimeoutMs: checkWhole('connectTimeoutMs', connectTimeoutMs, 1, 600_000),
    commandTimeoutMs: checkWhole('commandTimeoutMs', commandTimeoutMs, 1, 600_000),
    retentionMs: checkWhole('retentionMs', retentionMs, 1_000, 86_400_000),
    replicas: checkWhole('replicas', replicas, 0, 100),
    // The answer must still come in time when the replicas have taken all of theirs.
    replicasTimeoutMs: checkWhole(
      'replicasTimeoutMs',
      replicasTimeoutMs,
      1,
      Math.max(1, Math.min(60_000, commandTimeoutMs - 1)),
    ),
  })
}
