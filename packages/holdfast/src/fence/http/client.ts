/** The client side of an HTTP guard. */
import type { Held } from '../../hold/held.ts'
import { formatProof, type Proof, proofOf } from '../proof.ts'
import { FENCE_HEADER } from './header.ts'
import { PROBLEM_MEDIA_TYPE, readStale } from './problem.ts'
import { fetchAt } from './redirects.ts'

/**
 * `fetch` in the name of a hold: sends its token, and throws StaleTokenError if the service refuses the token. A
 * redirect to another origin is followed without the token.
 */
export async function fencedFetch(
  held: Held | Proof,
  input: string | URL | Request,
  init: RequestInit = {},
): Promise<Response> {
  const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined))
  const proof = proofOf(held)
  headers.set(FENCE_HEADER, formatProof(proof))
  const response = await fetchAt(input, { ...init, headers }, FENCE_HEADER)
  if (response.status !== 409 || response.headers.get('content-type')?.startsWith(PROBLEM_MEDIA_TYPE) !== true) {
    return response
  }
  const stale = readStale(parse(await response.clone().text()), proof.line)
  if (stale !== null) throw stale
  return response
}

/** A 409 of another service may have any body. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}
