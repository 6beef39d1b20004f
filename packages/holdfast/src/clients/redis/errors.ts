/** The errors of the Redis wire. Each tells whether the command may have taken effect; none ever carries a password. */
import { StoreError, StoreUnreachableError } from '../../contract/errors.ts'

/**
 * Why a command got no reply: `unreachable` no connection came up in time; `dropped` the link broke; `timeout` no reply
 * in time; `closed` the connection was closed by its owner; `full` too many commands already wait for a connection.
 */
export type LossReason = 'unreachable' | 'dropped' | 'timeout' | 'closed' | 'full'

interface LossDetail {
  readonly sent: boolean
  readonly reason: LossReason
  readonly cause?: unknown
}

/** No reply came. `sent` false: the server never saw the command. `sent` true: whether it took effect is not known. */
export class ConnectionLostError extends StoreUnreachableError {
  readonly sent: boolean
  readonly reason: LossReason

  constructor(message: string, detail: LossDetail) {
    super(message, { cause: detail.cause })
    this.sent = detail.sent
    this.reason = detail.reason
  }
}

/**
 * The server answered with an error. `reply` is its text, `kind` the first word: `NOSCRIPT`, `READONLY`, `MOVED`,
 * `OOM`, else `ERR`.
 */
export class ReplyError extends StoreError {
  readonly reply: string
  readonly kind: string

  constructor(reply: string, message: string = reply) {
    super(message)
    this.reply = reply
    this.kind = /^[A-Z][A-Z0-9_]*(?= |$)/.exec(reply)?.[0] ?? 'ERR'
  }
}

/** The server refused HELLO, AUTH or SELECT, so no command was sent. `reply` is its text with every secret cut out. */
export class HandshakeError extends ReplyError {
  readonly sent = false
}

/**
 * The bytes are no RESP, or a reply passes a limit. The connection is closed; the outcome of the command is not known.
 */
export class ProtocolError extends StoreError {
  readonly sent = true
}
