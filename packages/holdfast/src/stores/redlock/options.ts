/** The options of a Redlock store: checked once, before any I/O. */
import { checkKeys, checkText, checkWhole } from '../../contract/check.ts'
import { UsageError } from '../../contract/errors.ts'
import { majorityOf, SERVERS_MAX } from './deployment.ts'
import type { ConnectionOptions } from '../../clients/redis/options.ts'
import { parseRedisUrl } from '../../clients/redis/url.ts'

/** Which servers, and how they vote. */
export interface RedlockOptions {
  /** What all keys and channels begin with. Default 'holdfast'; 1 to 128 bytes, without braces. */
  readonly prefix?: string
  /** How long the first connections may take. Default 5 000; 1 to 600 000. */
  readonly connectTimeoutMs?: number
  /** How long one server may take to answer before it counts as dead. Default 1 000; 10 to 60 000. */
  readonly nodeTimeoutMs?: number
  /**
   * The longest lease of this deployment: one constant for all clients, kept by the servers, and how long a server that
   * restarted gives no votes. Default: what the servers say, or 60 000 on a first start; 1 000 to 86 400 000.
   */
  readonly maxTtlMs?: number
  /** How many votes make a hold. Default: the smallest majority; more is allowed, half or less is refused. */
  readonly quorum?: number
  /** How long a server remembers the last token of an empty line. Default 120 000; 90 000 to 86 400 000. */
  readonly retentionMs?: number
}

export interface Settings {
  readonly prefix: string
  readonly connectTimeoutMs: number
  readonly nodeTimeoutMs: number
  /** 0: as the servers say. */
  readonly maxTtlMs: number
  /** At least so many; 0: a majority. */
  readonly quorum: number
  readonly retentionMs: number
}

export const MAX_TTL_MS = 60_000
const KEYS = ['prefix', 'connectTimeoutMs', 'nodeTimeoutMs', 'maxTtlMs', 'quorum', 'retentionMs']
const NODES_MIN = 2

/** @param nodes how many servers there are. */
export function resolveSettings(options: RedlockOptions | undefined, nodes: number): Settings {
  checkKeys('Redlock options', options, KEYS)
  if (nodes < NODES_MIN || nodes > SERVERS_MAX) {
    throw new UsageError(
      `Redlock needs ${NODES_MIN} to ${SERVERS_MAX} independent servers, given ` +
        `${nodes}${nodes === 1 ? '; for one server use redis://' : ''}`,
    )
  }
  const majority = majorityOf(nodes)
  const {
    prefix = 'holdfast',
    connectTimeoutMs = 5_000,
    nodeTimeoutMs = 1_000,
    maxTtlMs,
    quorum,
    retentionMs = 120_000,
  } = options ?? {}
  checkText('prefix', prefix, 128)
  if (prefix === '' || /[{}]/.test(prefix)) {
    throw new UsageError(`prefix must be 1 to 128 bytes without braces, given ${JSON.stringify(prefix)}`)
  }
  if (quorum !== undefined && (!Number.isInteger(quorum) || quorum < majority || quorum > nodes)) {
    throw new UsageError(
      `quorum must be ${majority} to ${nodes} with ${nodes} servers, given ${String(quorum)}: two groups of ` +
        `${Math.floor(nodes / 2)} or fewer need not have a server in common, and then both would hold`,
    )
  }
  return Object.freeze({
    prefix,
    connectTimeoutMs: checkWhole('connectTimeoutMs', connectTimeoutMs, 1, 600_000),
    nodeTimeoutMs: checkWhole('nodeTimeoutMs', nodeTimeoutMs, 10, 60_000),
    maxTtlMs: maxTtlMs === undefined ? 0 : checkWhole('maxTtlMs', maxTtlMs, 1_000, 86_400_000),
    quorum: quorum ?? 0,
    retentionMs: checkWhole('retentionMs', retentionMs, 90_000, 86_400_000),
  })
}

const SHAPE =
  'redlock://[user:pass@]h1[:6379],h2,h3[/db], with reserved characters in user and password percent-encoded'

/**
 * The servers that `redlock://[user:pass@]h1[:6379],h2,h3[/db]` names. Each may have a user and a password of its own;
 * the first one's are for those without. No error repeats any part of the URL: an unescaped password could be anywhere.
 */
export function parseRedlockUrl(text: string): ConnectionOptions[] {
  const match = /^redlock:\/\/([^/?#]+)(\/[^?#]*)?$/i.exec(text)
  if (match === null) throw new UsageError(`the Redlock URL can't be used. It must look like ${SHAPE}.`)
  const [, authority = '', path = ''] = match
  const servers = authority.split(',').map((part) => parseRedisUrl(`redis://${part}${path}`))
  const { username, password } = servers[0] ?? {}
  const login = { ...(username === undefined ? {} : { username }), ...(password === undefined ? {} : { password }) }
  return servers.map((server) => (server.password === undefined ? { ...server, ...login } : server))
}
