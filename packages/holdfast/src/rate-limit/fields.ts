/** What a limit tells HTTP clients: the RateLimit fields of the IETF's draft (10), and problem documents (RFC 9457). */
import type { Limiter, Outcome } from '../kit/limiter/limiter.ts'

const PROBLEM_TYPES = 'https://iana.org/assignments/http-problem-types'

/** Header fields of every answer. */
export type Fields = Readonly<Record<string, string>>

export function fieldsOf(limiter: Limiter, outcome: Outcome): Fields {
  const name = quoted(limiter.name)
  const { count, seconds } = perSeconds(limiter)
  const fields: Record<string, string> = { 'RateLimit-Policy': `${name};q=${count};w=${seconds}` }
  if (!outcome.counted) return fields
  fields.RateLimit = `${name};r=${outcome.remaining};t=${Math.ceil(outcome.resetMs / 1_000)}`
  // At least 1, because a client that comes back at once would be refused again.
  if (!outcome.allowed) fields['Retry-After'] = String(Math.max(1, Math.ceil(outcome.retryAfterMs / 1_000)))
  return fields
}

export interface RateLimitProblem {
  readonly status: number
  readonly type: string
  readonly title: string
  readonly detail: string
  readonly 'violated-policies': readonly string[]
}

export function refusal(limiter: Limiter, outcome: Outcome): RateLimitProblem {
  const { count, seconds } = perSeconds(limiter)
  return {
    type: `${PROBLEM_TYPES}#${outcome.shut ? 'abnormal-usage-detected' : 'quota-exceeded'}`,
    title: outcome.shut ? 'Too many refused requests' : 'Too many requests',
    status: 429,
    detail: outcome.shut
      ? `Too many requests came after the limit was reached; no more are served for ${outcome.retryAfterMs} ms.`
      : `The limit is ${count} in ${seconds} s; there is room again in ${outcome.retryAfterMs} ms.`,
    'violated-policies': [limiter.name],
  }
}

/** The store does not count, and `whenDown` is 'closed'. */
export function outage(limiter: Limiter): RateLimitProblem {
  return {
    type: `${PROBLEM_TYPES}#temporary-reduced-capacity`,
    title: 'The rate limit cannot be checked',
    status: 503,
    detail: 'The store that counts requests does not answer, or refuses to.',
    'violated-policies': [limiter.name],
  }
}

/** The draft gives the window in whole seconds. Another period is given as the same rate over a longer window. */
function perSeconds({ limit, perMs }: Limiter): { readonly count: number; readonly seconds: number } {
  const times = 1_000 / gcd(perMs, 1_000)
  return { count: limit * times, seconds: (perMs * times) / 1_000 }
}

/** A string of a structured field: printable ASCII, the rest escaped as in a URL. */
function quoted(name: string): string {
  const plain = name.replace(/[^\x20-\x7e]/gu, encodeURIComponent)
  return `"${plain.replace(/["\\]/g, '\\$&')}"`
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b)
}
