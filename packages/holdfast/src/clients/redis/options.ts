/** The options of a connection: checked once, before any I/O, then frozen. */
import { createSecureContext } from 'node:tls'
import type { ConnectionOptions as TlsOptions } from 'node:tls'
import { UsageError } from '../../contract/errors.ts'

/**
 * What a connection tells its owner. A callback that throws surfaces as an uncaught exception, and never harms the
 * connection.
 */
export interface ConnectionEvents {
  /** The handshake is done and commands flow. */
  readonly onReady?: () => void
  /** The link broke, or an attempt failed; the next one is already planned. */
  readonly onDown?: (error: Error) => void
  /** After a reconnect the server has confirmed every subscription again. Messages in between are lost: look again. */
  readonly onResubscribed?: () => void
}

export interface ConnectionOptions {
  /** `127.0.0.1`. */
  readonly host?: string
  /** 6379; 1 to 65535. */
  readonly port?: number
  /** None: the user `default`. */
  readonly username?: string
  /** None: no AUTH. */
  readonly password?: string
  /** 0; selected on every (re)connect. */
  readonly db?: number
  /** false; true, or the options of node:tls. */
  readonly tls?: boolean | TlsOptions
  /** None; printable ASCII without spaces, shown by CLIENT LIST. */
  readonly clientName?: string
  /** 3: RESP3, falling back to 2 on a server without HELLO. 2: HELLO is not tried. */
  readonly protocol?: 2 | 3
  /** 5 000; for TCP, TLS and handshake together, and for connect(). 1 to 2^31 - 1. */
  readonly connectTimeoutMs?: number
  /** 5 000; from giving a command to its reply, waiting for a connection included. 1 to 2^31 - 1. */
  readonly commandTimeoutMs?: number
  /** 50; the first delay of the exponential backoff. */
  readonly backoffMinMs?: number
  /** 2 000; its cap. */
  readonly backoffMaxMs?: number
  /**
   * 'wait': an unsent command waits for a reconnect until its time-out. 'fail': it fails with the next failed attempt.
   */
  readonly offline?: 'wait' | 'fail'
  /** 10 000; how many commands may wait for a connection. */
  readonly queueLimit?: number
  /** 64 MiB; a larger reply closes the connection. 1 KiB to 256 MiB. */
  readonly maxReplyBytes?: number
  /** false: an idle connection lets the process end. true: it keeps the process alive until close(). */
  readonly ref?: boolean
  readonly events?: ConnectionEvents
}

/** Options with every default filled in; `password` and `username` stay undefined when there are none. */
export type ResolvedOptions = Readonly<
  Required<Omit<ConnectionOptions, 'username' | 'password' | 'clientName'>> &
    Pick<ConnectionOptions, 'username' | 'password' | 'clientName'>
>

const MAX_TIMER_MS = 2 ** 31 - 1

/** Fills in the defaults and freezes. Throws a UsageError that names the option and never shows a password. */
export function resolveOptions(given: ConnectionOptions): ResolvedOptions {
  const options: ResolvedOptions = {
    ...given,
    host: given.host ?? '127.0.0.1',
    port: whole('port', given.port ?? 6379, 1, 65_535),
    db: whole('db', given.db ?? 0, 0, MAX_TIMER_MS),
    tls: given.tls ?? false,
    protocol: given.protocol ?? 3,
    connectTimeoutMs: whole('connectTimeoutMs', given.connectTimeoutMs ?? 5_000, 1, MAX_TIMER_MS),
    commandTimeoutMs: whole('commandTimeoutMs', given.commandTimeoutMs ?? 5_000, 1, MAX_TIMER_MS),
    backoffMinMs: whole('backoffMinMs', given.backoffMinMs ?? 50, 1, MAX_TIMER_MS),
    backoffMaxMs: whole('backoffMaxMs', given.backoffMaxMs ?? 2_000, 1, MAX_TIMER_MS),
    offline: given.offline ?? 'wait',
    queueLimit: whole('queueLimit', given.queueLimit ?? 10_000, 0, MAX_TIMER_MS),
    maxReplyBytes: whole('maxReplyBytes', given.maxReplyBytes ?? 64 * 1024 * 1024, 1_024, 2 ** 28),
    ref: given.ref ?? false,
    events: given.events ?? {},
  }
  if (options.host === '') throw new UsageError('host must not be empty')
  if (options.protocol !== 2 && options.protocol !== 3) throw new UsageError('protocol must be 2 or 3')
  if (options.offline !== 'wait' && options.offline !== 'fail') throw new UsageError("offline must be 'wait' or 'fail'")
  if (options.username !== undefined && options.password === undefined)
    throw new UsageError('a username needs a password, but none was given')
  if (options.clientName !== undefined && !/^[!-~]+$/.test(options.clientName))
    throw new UsageError(
      `clientName must be printable ASCII without spaces, but got ${JSON.stringify(options.clientName)}`,
    )
  if (typeof options.tls === 'object') checkTls(options.tls)
  return Object.freeze(options)
}

/**
 * node:tls throws on a broken certificate or key while it connects: in a reconnect nobody would be there to catch it.
 */
function checkTls(tls: TlsOptions): void {
  try {
    createSecureContext(tls)
  } catch (cause) {
    throw new UsageError('tls has a certificate, a key or another value that node:tls refuses; see the cause', {
      cause,
    })
  }
}

/** Checks a time-out given with one command. */
export function timeoutMs(given: number): number {
  return whole('timeoutMs', given, 1, MAX_TIMER_MS)
}

function whole(name: string, value: number, min: number, max: number): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value
  throw new UsageError(`${name} must be a whole number from ${min} to ${max}, but got ${String(value)}`)
}
