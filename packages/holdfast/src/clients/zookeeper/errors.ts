/** What can go wrong in a ZooKeeper client: the server's own error codes by name, and outcomes that nobody knows. */
import { StoreError, StoreUnreachableError } from '../../contract/errors.ts'

const ERRNO_BY_KIND = {
  SystemError: -1,
  RuntimeInconsistency: -2,
  DataInconsistency: -3,
  ConnectionLoss: -4,
  MarshallingError: -5,
  Unimplemented: -6,
  OperationTimeout: -7,
  BadArguments: -8,
  UnknownSession: -12,
  NewConfigNoQuorum: -13,
  ReconfigInProgress: -14,
  ApiError: -100,
  NoNode: -101,
  NoAuth: -102,
  BadVersion: -103,
  NoChildrenForEphemerals: -108,
  NodeExists: -110,
  NotEmpty: -111,
  SessionExpired: -112,
  InvalidCallback: -113,
  InvalidAcl: -114,
  AuthFailed: -115,
  SessionMoved: -118,
  NotReadOnly: -119,
  EphemeralOnLocalSession: -120,
  NoWatcher: -121,
  RequestTimeout: -122,
  ReconfigDisabled: -123,
  SessionClosedRequireSaslAuth: -124,
  QuotaExceeded: -125,
  Throttled: -127,
} as const

/** The server's error codes by name; `Unknown` for a code that this client does not know. */
export type ZooKeeperErrorKind = keyof typeof ERRNO_BY_KIND | 'Unknown'

const KIND_BY_ERRNO: ReadonlyMap<number, ZooKeeperErrorKind> = new Map(
  Object.entries(ERRNO_BY_KIND).map(([kind, errno]) => [errno, kind as ZooKeeperErrorKind]),
)

export function kindOf(errno: number): ZooKeeperErrorKind {
  return KIND_BY_ERRNO.get(errno) ?? 'Unknown'
}

export function errnoOf(kind: ZooKeeperErrorKind): number {
  return kind === 'Unknown' ? 0 : ERRNO_BY_KIND[kind]
}

interface AnswerDetail {
  readonly request: string
  readonly path: string
  readonly index?: number
}

/**
 * The server answered a request with an error; the request took no effect. `code` stays Holdfast's, the server's number
 * is `errno`.
 */
export class ZooKeeperError extends StoreError {
  readonly kind: ZooKeeperErrorKind
  readonly errno: number
  readonly path: string
  readonly sent = true
  /** Which operation of a multi failed. */
  readonly index?: number

  constructor(errno: number, detail: AnswerDetail) {
    const kind = kindOf(errno)
    const place = detail.index === undefined ? '' : ` (operation ${detail.index} of a multi)`
    super(`ZooKeeper answered ${kind} (${errno}) to ${detail.request} ${detail.path}${place}`)
    this.kind = kind
    this.errno = errno
    this.path = detail.path
    if (detail.index !== undefined) this.index = detail.index
  }
}

/** Why a request has no answer. */
export type UnansweredKind = 'ConnectionLoss' | 'OperationTimeout' | 'SessionExpired' | 'AuthFailed'

interface SilenceDetail {
  readonly request: string
  readonly path: string
  /** False: the request never left this process, so it took no effect. True: it may have, or may yet. */
  readonly sent: boolean
  readonly because: string
  readonly cause?: unknown
}

/** A request got no answer. `sent` says whether it may have taken effect. */
export class ZooKeeperUnreachableError extends StoreUnreachableError {
  readonly kind: UnansweredKind
  readonly errno: number
  readonly path: string
  readonly sent: boolean

  constructor(kind: UnansweredKind, detail: SilenceDetail) {
    const outcome = detail.sent ? 'it was sent, its outcome is unknown' : 'it was not sent'
    super(`no answer to ${detail.request} ${detail.path}: ${detail.because}; ${outcome}`, { cause: detail.cause })
    this.kind = kind
    this.errno = errnoOf(kind)
    this.path = detail.path
    this.sent = detail.sent
  }
}

/** True if `error` came from this client and is of one of the given kinds (of any kind if none is given). */
export function isZooKeeperError(
  error: unknown,
  ...kinds: readonly ZooKeeperErrorKind[]
): error is ZooKeeperError | ZooKeeperUnreachableError {
  if (!(error instanceof ZooKeeperError || error instanceof ZooKeeperUnreachableError)) return false
  return kinds.length === 0 || kinds.includes(error.kind)
}
