/** What `holdfast run` and its guardian say to each other. */

/** From `run` to the guardian. Instants are those of `bootMs`, which both processes share. */
export type Order =
  | { readonly kind: 'start'; readonly start: Start }
  /** The lease was renewed: it now ends at this instant. */
  | { readonly kind: 'lease'; readonly leaseUntilMs: number }
  /** The lock is lost: stop the program. */
  | { readonly kind: 'stop' }

export interface Start {
  readonly file: string
  readonly args: readonly string[]
  /** Added to the guardian's own environment, which is that of `run`. */
  readonly env: Readonly<Record<string, string>>
  readonly leaseUntilMs: number
  /** How long before the end of an unrenewed lease the guardian tells the program to stop. */
  readonly noticeMs: number
  /** How long a program that was told to stop may take until it is killed. */
  readonly graceMs: number
}

/** From the guardian to `run`. */
export type Report =
  | { readonly kind: 'started'; readonly pid: number }
  /** The program could not be started. */
  | { readonly kind: 'refused'; readonly code: string }
  /** The lease is about to end unrenewed, so the guardian is stopping the program. */
  | { readonly kind: 'expiring' }
  /** The guardian has told the program to stop. */
  | { readonly kind: 'stopping' }
  | { readonly kind: 'ended'; readonly code: number | null; readonly signal: NodeJS.Signals | null }

/** The monotonic clock that all processes of a machine share; `performance.now()` starts anew in each of them. */
export function bootMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000
}
