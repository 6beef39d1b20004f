/** The header that carries a proof: `Holdfast-Token: 1792; place=0123456789abcdef; line=stock%3A42`. */
import type { Held } from '../../hold/held.ts'
import { formatProof, parseProof, type Proof } from '../proof.ts'

/** The header that carries the token. */
export const FENCE_HEADER = 'Holdfast-Token'

/** The header of a request that is sent in the name of a hold. */
export function fenceHeaders(held: Held | Proof): Record<string, string> {
  return { [FENCE_HEADER]: formatProof(held) }
}

/** A request of node:http, Express, Fastify or fetch: anything with headers. */
export interface WithHeaders {
  /** As Node or the Fetch API has them. */
  readonly headers:
    | { get(name: string): string | null }
    | Readonly<Record<string, string | readonly string[] | undefined>>
}

/** The proof that a request carries; null: none. A header that is no proof is a UsageError. */
export function requestProof(request: WithHeaders): Proof | null {
  const { headers } = request
  const value = isFetch(headers) ? headers.get(FENCE_HEADER) : headers[FENCE_HEADER.toLowerCase()]
  if (value === undefined || value === null) return null
  return parseProof(typeof value === 'string' ? value : value.join(', '))
}

function isFetch(headers: WithHeaders['headers']): headers is { get(name: string): string | null } {
  return typeof headers.get === 'function'
}
