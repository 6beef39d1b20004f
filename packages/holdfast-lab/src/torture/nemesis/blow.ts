/** One fault: made, kept up for a while, mended. */

export interface Blow {
  /** Who is hit: a client process (`c2`), or whatever name the store's servers have. */
  readonly target: string
  /** How long it is kept up, from when it is made. */
  readonly lastsMs: number
  /** For so long after it is mended the store may still act on what it forgot; default 0. */
  readonly graceMs?: number
  /** The only line that it is done to; default: all of them. */
  readonly line?: string
  strike(): void | Promise<void>
  heal(): void | Promise<void>
}
