/**
 * How long to wait before the next try: doubled each time, capped, and spread so that processes do not return in step.
 */

export interface BackoffRange {
  readonly backoffMinMs: number
  readonly backoffMaxMs: number
}

/**
 * The pause after so many `failures`, where `random` is from 0 to 1. The pause is at least the share `least` of its
 * step. Connections take one half, so that a server which accepts and hangs up is not hammered. Callers that only got
 * in each other's way may return at once.
 */
export function backoffMs(failures: number, range: BackoffRange, random: number, least = 0): number {
  const step = Math.min(range.backoffMaxMs, range.backoffMinMs * 2 ** Math.min(failures, 30))
  return step * (least + (1 - least) * random)
}

/** The same, and counts the failures itself: the first new try comes at once. */
export class Backoff {
  readonly #options: BackoffRange & { readonly random: () => number }
  #failures = 0

  constructor(options: BackoffRange & { readonly random: () => number }) {
    this.#options = options
  }

  /** Milliseconds to pause now; 0 after a success. */
  next(): number {
    const failures = this.#failures++
    return failures === 0 ? 0 : backoffMs(failures - 1, this.#options, this.#options.random())
  }

  /** The try succeeded. */
  reset(): void {
    this.#failures = 0
  }
}
