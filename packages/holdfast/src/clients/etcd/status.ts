/** The gRPC status codes: numbers, names, and what each says about a request. */

const NAMES = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const

type StatusName = (typeof NAMES)[number]

/** Status name to number. */
export const Status: Readonly<Record<StatusName, number>> = Object.freeze(
  Object.fromEntries(NAMES.map((name, code) => [name, code])) as Record<StatusName, number>,
)

/** The name of a status number; `STATUS_n` for a number that gRPC doesn't define. */
export function statusName(status: number): string {
  return NAMES[status] ?? `STATUS_${status}`
}

/** No member could answer, but another member, or the same one later, may. */
export function isUnreachable(status: number, message: string): boolean {
  if (status === Status.UNKNOWN) return WITHOUT_QUORUM.test(message)
  return status === Status.UNAVAILABLE || status === Status.DEADLINE_EXCEEDED || status === Status.CANCELLED
}

// A member without a quorum lets a lease request run into its own deadline, and passes that on without a status of its
// own.
const WITHOUT_QUORUM = /^context (deadline exceeded|canceled)$/

// etcd gives these answers before applying anything, or instead. All others leave it open: UNAVAILABLE is also "request
// timed out", where the proposal is in the Raft log and may be applied after the reply.
const REFUSALS: ReadonlySet<number> = new Set([
  Status.INVALID_ARGUMENT,
  Status.NOT_FOUND,
  Status.PERMISSION_DENIED,
  Status.RESOURCE_EXHAUSTED,
  Status.FAILED_PRECONDITION,
  Status.OUT_OF_RANGE,
  Status.UNIMPLEMENTED,
  Status.UNAUTHENTICATED,
])

/** The status proves that the request changed nothing. */
export function isRefusal(status: number): boolean {
  return REFUSALS.has(status)
}

const BY_HTTP: Readonly<Record<number, number>> = {
  400: Status.INTERNAL,
  401: Status.UNAUTHENTICATED,
  403: Status.PERMISSION_DENIED,
  404: Status.UNIMPLEMENTED,
  429: Status.UNAVAILABLE,
  502: Status.UNAVAILABLE,
  503: Status.UNAVAILABLE,
  504: Status.UNAVAILABLE,
}

/** The gRPC status that stands for an HTTP status, if something that isn't gRPC answers (a proxy). */
export function statusOfHttp(http: number): number {
  return BY_HTTP[http] ?? Status.UNKNOWN
}

/** Undoes the percent-encoding of `grpc-message`; what isn't an escape stays as it is. */
export function decodeStatusMessage(text: string): string {
  if (!text.includes('%')) return text
  const bytes = Buffer.from(text, 'utf8')
  const out = Buffer.alloc(bytes.length)
  let length = 0
  for (let i = 0; i < bytes.length; i++) {
    const hex = bytes[i] === 0x25 ? bytes.toString('latin1', i + 1, i + 3) : ''
    if (/^[0-9a-f]{2}$/i.test(hex)) {
      out[length++] = Number.parseInt(hex, 16)
      i += 2
    } else {
      out[length++] = bytes[i] ?? 0
    }
  }
  return out.toString('utf8', 0, length)
}
