/** Decides over one request, whatever server it came to. */
import { createHash } from 'node:crypto'
import { checkFunction, checkKeys } from '../core/check.ts'
import { StoreUnreachableError, UsageError } from '../core/errors.ts'
import { KEY_BYTES_MAX, type Limiter } from '../primitives/limiter/limiter.ts'
import { type Fields, fieldsOf, outage, type Problem, refusal } from './fields.ts'

export interface RateLimitOptions<Request> {
  /** Who is limited: an address, a user, an API key. null: this request is not. */
  readonly key?: (request: Request) => string | null | Promise<string | null>
  /** What the request costs. Default 1. */
  readonly cost?: (request: Request) => number | Promise<number>
}

/** What to answer with. */
export interface Verdict {
  readonly fields: Fields
  /** Null: let it through, with the fields. */
  readonly problem: Problem | null
}

export type Gate<Request> = (request: Request) => Promise<Verdict>

const UNLIMITED: Verdict = Object.freeze({ fields: Object.freeze({}), problem: null })

export function gate<Request>(
  limiter: Limiter,
  options: RateLimitOptions<Request> | undefined,
  address: ((request: Request) => string | undefined) | null,
): Gate<Request> {
  checkKeys('rate limit options', options, ['key', 'cost'])
  const { key, cost } = options ?? {}
  if (key !== undefined) checkFunction('key', key)
  else if (address === null) throw new UsageError('key must be a function: a fetch handler knows no address')
  if (cost !== undefined) checkFunction('cost', cost)
  return async (request) => {
    const who = key === undefined ? (address?.(request) ?? 'unknown') : await key(request)
    if (who === null) return UNLIMITED
    try {
      const outcome = await limiter.take(bounded(who), cost === undefined ? 1 : await cost(request))
      return { fields: fieldsOf(limiter, outcome), problem: outcome.allowed ? null : refusal(limiter, outcome) }
    } catch (error) {
      if (!(error instanceof StoreUnreachableError)) throw error
      return { fields: { 'Retry-After': '1' }, problem: outage(limiter) }
    }
  }
}

/**
 * A key comes from the request, and whoever sends it chooses its length: an error would end a node:http server, whose
 * handlers have nobody to reject to. So what is no key of a limiter is counted by its digest.
 */
function bounded(key: string): string {
  if (typeof key !== 'string' || (key !== '' && Buffer.byteLength(key) <= KEY_BYTES_MAX)) return key
  return `sha256:${createHash('sha256').update(key).digest('hex')}`
}
