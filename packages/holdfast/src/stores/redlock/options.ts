/** The options of a Redlock store: checked once, before any I/O. */
import { checkKeys, checkText, checkWhole } from '../../core/check.ts'
import { UsageError } from '../../core/errors.ts'

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
  readonly quorum: number
  readonly retentionMs: number
}

export const MAX_TTL_MS = 60_000
const KEYS = ['prefix', 'connectTimeoutMs', 'nodeTimeoutMs', 'maxTtlMs', 'quorum', 'retentionMs']
const NODES_MIN = 2
const NODES_MAX = 15

/** @param nodes how many servers there are. */
export function resolveSettings(options: RedlockOptions | undefined, nodes: number): Settings {
  checkKeys('Redlock options', options, KEYS)
  if (nodes < NODES_MIN || nodes > NODES_MAX) {
    throw new UsageError(
      `Redlock needs ${NODES_MIN} to ${NODES_MAX} independent servers, given ${nodes}${nodes === 1 ? '; for one server use redis://' : ''}`,
    )
  }
  const majority = Math.floor(nodes / 2) + 1
  const {
    prefix = 'holdfast',
    connectTimeoutMs = 5_000,
    nodeTimeoutMs = 1_000,
    maxTtlMs,
    quorum = majority,
    retentionMs = 120_000,
  } = options ?? {}
  checkText('prefix', prefix, 128)
  if (prefix === '' || /[{}]/.test(prefix)) {
    throw new UsageError(`prefix must be 1 to 128 bytes without braces, given ${JSON.stringify(prefix)}`)
  }
  if (!Number.isInteger(quorum) || quorum < majority || quorum > nodes) {
    throw new UsageError(
      `quorum must be ${majority} to ${nodes} with ${nodes} servers, given ${String(quorum)}: two groups of ${Math.floor(nodes / 2)} or fewer need not have a server in common, and then both would hold`,
    )
  }
  return Object.freeze({
    prefix,
    connectTimeoutMs: checkWhole('connectTimeoutMs', connectTimeoutMs, 1, 600_000),
    nodeTimeoutMs: checkWhole('nodeTimeoutMs', nodeTimeoutMs, 10, 60_000),
    maxTtlMs: maxTtlMs === undefined ? 0 : checkWhole('maxTtlMs', maxTtlMs, 1_000, 86_400_000),
    quorum,
    retentionMs: checkWhole('retentionMs', retentionMs, 90_000, 86_400_000),
  })
}
