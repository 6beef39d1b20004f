/** How long to wait before the next attempt to connect: doubling, capped, and spread so that clients do not come back in step. */

export interface BackoffRange {
  readonly backoffMinMs: number
  readonly backoffMaxMs: number
}

/**
 * The delay before attempt `failures` + 1, where `random` is in [0, 1): between half the step and the whole step. Never
 * near zero, so that a server which accepts and hangs up is not hammered.
 */
export function backoffMs(failures: number, range: BackoffRange, random: number): number {
  const step = Math.min(range.backoffMaxMs, range.backoffMinMs * 2 ** Math.min(failures, 30))
  return step / 2 + (random * step) / 2
}
