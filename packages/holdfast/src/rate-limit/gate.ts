/** Decides about one request, whatever server received it. */
import { createHash } from 'node:crypto'
import { checkFunction, checkKeys, checkWhole } from '../contract/check.ts'
import { diagnostics } from '../contract/events.ts'
import { StoreError, UsageError } from '../contract/errors.ts'
import { KEY_BYTES_MAX, type Limiter } from '../kit/limiter/limiter.ts'
import { network } from './address.ts'
import { type Fields, fieldsOf, outage, type RateLimitProblem, refusal } from './fields.ts'

/** Options of the rate limit middlewares. */
export interface RateLimitOptions<Request> {
  /** Names the client to limit: an address, a user, an API key; null: no limit. Default: the address of the request. */
  readonly key?: (request: Request) => string | null | Promise<string | null>
  /** What the request costs. Default 1. */
  readonly cost?: (request: Request) => number | Promise<number>
  /**
   * Without a `key`: how many bits of an IPv6 address make one client. Default 64, the network of one host or
   * household; 1 to 128.
   */
  readonly ipv6Bits?: number
}

/** How to answer. */
export interface Verdict {
  readonly fields: Fields
  /** null: let the request pass, with the fields. */
  readonly problem: RateLimitProblem | null
}

export type Gate<Request> = (request: Request) => Promise<Verdict>

const UNLIMITED: Verdict = Object.freeze({ fields: Object.freeze({}), problem: null })

export function gate<Request>(
  limiter: Limiter,
  options: RateLimitOptions<Request> | undefined,
  address: ((request: Request) => string | undefined) | null,
): Gate<Request> {
  checkKeys('rate limit options', options, ['key', 'cost', 'ipv6Bits'])
  const { key, cost, ipv6Bits = 64 } = options ?? {}
  checkWhole('ipv6Bits', ipv6Bits, 1, 128)
  if (key !== undefined) checkFunction('key', key)
  else if (address === null) throw new UsageError('key must be a function, because a fetch handler knows no address')
  if (cost !== undefined) checkFunction('cost', cost)
  return async (request) => {
    const who = key === undefined ? network(address?.(request) ?? 'unknown', ipv6Bits) : await key(request)
    if (who === null) return UNLIMITED
    try {
      const outcome = await limiter.take(bounded(who), cost === undefined ? 1 : await cost(request))
      return { fields: fieldsOf(limiter, outcome), problem: outcome.allowed ? null : refusal(limiter, outcome) }
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      diagnostics.failed(limiter.name, error)
      return { fields: { 'Retry-After': '1' }, problem: outage(limiter) }
    }
  }
}

/**
 * A key comes from the request, so its sender chooses its length. An error would end a node:http server, because its
 * handlers can reject to nobody. So a text that can't be a key is counted by its digest.
 */
function bounded(key: string): string {
  if (typeof key !== 'string' || (key !== '' && Buffer.byteLength(key) <= KEY_BYTES_MAX)) return key
  return `sha256:${createHash('sha256').update(key).digest('hex')}`
}
