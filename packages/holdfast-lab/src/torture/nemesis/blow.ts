/** One fault: made, kept up for a while, mended. */

export interface Blow {
  /** The target: a client process (`c2`), or a server by its name. */
  readonly target: string
  /** How long the fault lasts, from its beginning. */
  readonly lastsMs: number
  /** How long after the mending the store may still act on what it forgot; default 0. */
  readonly graceMs?: number
  /** The only line that the fault hits; default: all lines. */
  readonly line?: string
  strike(): void | Promise<void>
  heal(): void | Promise<void>
}
