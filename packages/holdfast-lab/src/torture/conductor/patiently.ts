/**
 * The conductor's own questions to a store that has just been broken: it may not be whole again yet, and that is no
 * finding by itself.
 */
import { setTimeout as sleep } from 'node:timers/promises'

const AGAIN_MS = 200

/** Asks again while the store can't be reached, at most so long. */
export async function patiently<T>(ms: number, ask: () => Promise<T>): Promise<T> {
  const end = performance.now() + ms
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!isUnreachable(error) || performance.now() > end) throw error
      await sleep(AGAIN_MS)
    }
  }
}

/** By its code: the client under test is another module, with classes of its own. */
function isUnreachable(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'HF_UNREACHABLE'
}
