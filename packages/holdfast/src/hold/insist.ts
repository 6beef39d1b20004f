/** Asks the store about our own place until there is an answer, because a lost reply must not leave the matter open. */
import type { Core } from '../acquire/core.ts'
import { StoreUnreachableError } from '../contract/errors.ts'

const PAUSE_MS = 50

/**
 * Asks until there is an answer, or until the lease must have lapsed. A repeated request with the same id gets the same
 * answer.
 */
export async function insist<T>(core: Core, until: number, ask: () => Promise<T>): Promise<T> {
  const { runtime } = core
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof StoreUnreachableError) || runtime.now() >= until) throw error
    }
    await new Promise<void>((resolve) => {
      runtime.after(PAUSE_MS * (0.5 + runtime.random()), resolve, true)
    })
  }
}
