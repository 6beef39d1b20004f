/** The answer to a refused request: a problem document (RFC 9457). */
import { type HoldfastError, StaleTokenError } from '../../contract/errors.ts'
import { FENCE_HEADER } from './header.ts'

export const STALE_TYPE = 'urn:holdfast:stale-token'
export const PROBLEM_MEDIA_TYPE = 'application/problem+json'

export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  /** Decimal strings: as JSON numbers they would be rounded above 2^53. */
  readonly given?: string
  readonly newest?: string
}

export function staleProblem(error: StaleTokenError): Problem {
  return {
    type: STALE_TYPE,
    title: 'Stale fencing token',
    status: 409,
    detail: error.message,
    given: String(error.given),
    newest: String(error.newest),
  }
}

export function malformedProblem(error: HoldfastError): Problem {
  return { type: 'urn:holdfast:malformed-token', title: 'Malformed fencing token', status: 400, detail: error.message }
}

export function unnamedProblem(error: HoldfastError): Problem {
  return { type: 'urn:holdfast:malformed-resource', title: 'No such resource', status: 400, detail: error.message }
}

/** Nobody can tell whether the token is stale, so the request has to wait. */
export function outageProblem(): Problem {
  return {
    type: 'urn:holdfast:memory-unreachable',
    title: 'The fencing token cannot be checked',
    status: 503,
    detail: 'The store that remembers tokens is out of reach.',
  }
}

/** A newer holder may not begin beside a request of an older holder, which may write at any moment. */
export function busyProblem(): Problem {
  return {
    type: 'urn:holdfast:older-at-work',
    title: 'An older holder is still at work',
    status: 503,
    detail: 'A request that came with an older fencing token has not been answered yet; try again later.',
  }
}

/** The reason is for the service, not for its caller. */
export function failureProblem(): Problem {
  return {
    type: 'urn:holdfast:check-failed',
    title: 'The fencing token cannot be checked',
    status: 500,
    detail: 'The check of the fencing token failed.',
  }
}

export function missingProblem(): Problem {
  return {
    type: 'urn:holdfast:token-required',
    title: 'Fencing token required',
    status: 428,
    detail: `send the token of the lock that protects this in the header ${FENCE_HEADER}`,
  }
}

export function problemHeaders(): Record<string, string> {
  return { 'content-type': PROBLEM_MEDIA_TYPE, 'cache-control': 'no-store' }
}

/** Reads a stale problem back; null: the document is something else. */
export function readStale(document: unknown, line: string): StaleTokenError | null {
  if (typeof document !== 'object' || document === null) return null
  const { type, detail, given, newest } = document as Record<string, unknown>
  if (type !== STALE_TYPE || !isDecimal(given) || !isDecimal(newest)) return null
  return new StaleTokenError(String(detail), { line, given: BigInt(given), newest: BigInt(newest) })
}

function isDecimal(value: unknown): value is string {
  return typeof value === 'string' && /^\d{1,19}$/.test(value)
}
