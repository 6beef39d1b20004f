/** What the shop and its buyers say to each other, across processes. */

/** How a buyer proceeds. */
export type Way = 'bare' | 'locked' | 'fenced' | 'conditional'

/** What a buyer learns at its start, as JSON in its first argument. */
export interface Errand {
  readonly name: string
  readonly wants: number
  readonly way: Way
  /** URL of the store that keeps the lock. */
  readonly store: string
}

/** What a buyer asks of the shop. Every request gets an answer. Tokens are decimal strings. */
export type Ask =
  /** How many are left? */
  | { readonly kind: 'read'; readonly token?: string }
  /** Nothing: all checks are done, and the next thing is the write. The shop decides when that comes. */
  | { readonly kind: 'decided' }
  /** So many are left now. */
  | { readonly kind: 'write'; readonly left: number; readonly token?: string }
  /** Take so many, if there are as many. */
  | { readonly kind: 'take'; readonly count: number }
  /** The end of the errand. */
  | { readonly kind: 'done'; readonly bought: number }

export interface Request {
  readonly id: number
  readonly ask: Ask
}

/** `refused`: the token was older than one the stock had seen. */
export interface Answer {
  readonly id: number
  readonly left?: number
  readonly taken?: boolean
  readonly refused?: boolean
}
