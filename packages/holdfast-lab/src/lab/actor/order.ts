/** The orders of an actor, and its answers: they go between processes, so everything is JSON. */

/**
 * Every order is one step. The next order is given after the answer; or it lies in the actor's pipe while the actor is
 * stopped.
 */
export type Order =
  /** One Redis command on a connection of its own. */
  | { readonly do: 'redis'; readonly url: string; readonly command: readonly string[] }
  /** One SQL statement on a connection of its own. */
  | { readonly do: 'sql'; readonly url: string; readonly sql: string; readonly values: readonly string[] }
  /** Takes a mutex of Holdfast and keeps it; returns its token. */
  | { readonly do: 'acquire'; readonly url: string; readonly line: string; readonly options: Options }
  /** Throws unless the hold is still its own, by its own clock. */
  | { readonly do: 'assert' }
  /** Returns 'held', 'at-risk', 'lost' or 'released'. */
  | { readonly do: 'state' }
  /** Gives the hold back; returns whether it was still its own. */
  | { readonly do: 'release' }
  /** One Redis command behind a guard that checks the token of the hold. */
  | { readonly do: 'guarded'; readonly url: string; readonly resource: string; readonly command: readonly string[] }

interface Options {
  readonly ttlMs: number
  readonly renew?: boolean
  readonly label?: string
}

export interface Request {
  readonly id: number
  readonly order: Order
}

export type Answer =
  | { readonly id: number; readonly value: string | number | boolean | null }
  | { readonly id: number; readonly error: { readonly code: string; readonly message: string } }
