/** A question about one's own place that a lost reply must not leave open. */
import type { Core } from '../acquire/core.ts'
import { StoreUnreachableError } from '../contract/errors.ts'

const PAUSE_MS = 50

/**
 * Asks until there is an answer, or until the lease must have lapsed: asked again with the same id it answers the same.
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
