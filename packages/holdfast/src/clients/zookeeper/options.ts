/** The options of a client, resolved once: defaults filled in, nonsense refused before any I/O. */
import { type ConnectionOptions, createSecureContext } from 'node:tls'
import { UsageError } from '../../contract/errors.ts'
import { type Heartbeat, PROOF_NEEDED } from './proof.ts'
import { REQUEST_BYTES_MAX } from './protocol.ts'

/**
 * A proof of who this session is, such as scheme 'digest' and credential 'user:password'. Sent again on every
 * reconnect.
 */
export interface Identity {
  readonly scheme: string
  readonly credential: string | Uint8Array
}

export interface ZooKeeperClientOptions {
  /** `host`, `host:port` or `[v6]:port`; the port defaults to 2181. All of one ensemble; tried in random order. */
  readonly servers: readonly string[]
  /** The subtree that this client can't leave. Default '/'. */
  readonly chroot?: string
  /**
   * The session time to ask for; what counts is what the server grants (2 to 20 of its ticks). Default 30_000, 1 … 2^31
   * - 1.
   */
  readonly sessionTimeoutMs?: number
  /** How long any request may take before it rejects. Default 5_000, 1 … 2^31 - 1. */
  readonly requestTimeoutMs?: number
  /** Default none. */
  readonly identities?: readonly Identity[]
  /** True, or what node:tls takes (ca, cert, key, servername …). Default false. */
  readonly tls?: boolean | ConnectionOptions
  /**
   * Which answers prove that the session lives. Default 'ping': any answer. 'sync': only answers in which the leader
   * took part (changes, sync, a reconnect), so a follower cut off from its leader can't vouch for a session that the
   * leader has ended. 'commit': only what a quorum committed, at the price of one empty transaction each third of a
   * session time.
   */
  readonly heartbeat?: Heartbeat
  /** Open a new session automatically after an expiry. Default false: call `renew()`. */
  readonly renew?: boolean
  /** Whether an idle client keeps the process alive; a client with a request under way always does. Default false. */
  readonly ref?: boolean
  /** The largest answer accepted; a larger answer costs the link. Default 4_194_304, 1_024 … 2^30. */
  readonly maxFrameBytes?: number
  /** The largest request sent; keep it at the servers' jute.maxbuffer. Default 1_048_575, 1_024 … 2^30. */
  readonly maxRequestBytes?: number
  /** A monotonic clock in milliseconds. Default performance.now. */
  readonly now?: () => number
  /** Numbers from 0 to 1 for the order of servers and the jitter of retries. Default Math.random. */
  readonly random?: () => number
}

export interface ResolvedOptions {
  readonly sessionTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly identities: readonly Identity[]
  readonly tls: ConnectionOptions | null
  readonly heartbeat: Heartbeat
  readonly renew: boolean
  readonly ref: boolean
  readonly maxFrameBytes: number
  readonly maxRequestBytes: number
  readonly now: () => number
  readonly random: () => number
}

const INT_MAX = 2 ** 31 - 1

/** `value` if it is a whole number from `min` to `max`, `fallback` if it was not given. */
export function wholeNumber(
  name: string,
  value: number | undefined,
  fallback: number,
  min: number,
  max: number,
): number {
  if (value === undefined) return fallback
  if (Number.isInteger(value) && value >= min && value <= max) return value
  throw new UsageError(`${name} must be a whole number from ${min} to ${max}, given was ${String(value)}`)
}

/** The time that a request may take. */
export function requestTimeout(value: number | undefined, fallback: number): number {
  return wholeNumber('timeoutMs', value, fallback, 1, INT_MAX)
}

function heartbeatOf(heartbeat: Heartbeat = 'ping'): Heartbeat {
  if (heartbeat in PROOF_NEEDED) return heartbeat
  throw new UsageError(`heartbeat must be ping, sync or commit, given was ${heartbeat as string}`)
}

function tlsOf(tls: boolean | ConnectionOptions | undefined): ConnectionOptions | null {
  if (tls === undefined || tls === false) return null
  const options = tls === true ? {} : tls
  try {
    // Made once, here: a key that can't be read is a usage error now, and not an exception from some later reconnect.
    return { secureContext: createSecureContext(options), ...options }
  } catch (error) {
    throw new UsageError(`tls holds something that node:tls can't use: ${String(error)}`, { cause: error })
  }
}

export function resolveOptions(options: ZooKeeperClientOptions): ResolvedOptions {
  for (const identity of options.identities ?? []) assertIdentity(identity)
  return Object.freeze({
    sessionTimeoutMs: wholeNumber('sessionTimeoutMs', options.sessionTimeoutMs, 30_000, 1, INT_MAX),
    requestTimeoutMs: wholeNumber('requestTimeoutMs', options.requestTimeoutMs, 5_000, 1, INT_MAX),
    identities: Object.freeze([...(options.identities ?? [])]),
    tls: tlsOf(options.tls),
    heartbeat: heartbeatOf(options.heartbeat),
    renew: options.renew ?? false,
    ref: options.ref ?? false,
    maxFrameBytes: wholeNumber('maxFrameBytes', options.maxFrameBytes, 4_194_304, 1_024, 2 ** 30),
    maxRequestBytes: wholeNumber('maxRequestBytes', options.maxRequestBytes, REQUEST_BYTES_MAX, 1_024, 2 ** 30),
    now: options.now ?? ((): number => performance.now()),
    random: options.random ?? Math.random,
  })
}

/** The message names the scheme only: the credential is a password. */
export function assertIdentity(identity: Identity): void {
  if (typeof identity.scheme !== 'string' || identity.scheme === '') {
    throw new UsageError("an identity needs a scheme, such as 'digest'")
  }
  if (typeof identity.credential !== 'string' && !(identity.credential instanceof Uint8Array)) {
    throw new UsageError(`the credential for scheme ${identity.scheme} must be a string or bytes`)
  }
}
