/** How `run` asks for its lock, and how it gets it. */
import { AcquireTimeoutError, CapacityMismatchError } from '../contract/errors.ts'
import type { Held } from '../hold/held.ts'
import type { Lock } from '../acquire/lock.ts'
import type { AcquireOptions } from '../contract/options.ts'
import type { Holdfast } from '../holdfast.ts'

export type Claim =
  | { readonly kind: 'exclusive' }
  | { readonly kind: 'shared' }
  | { readonly kind: 'permits'; readonly permits: number; readonly of: number }

/** How often a line may change its kind between two tries. */
const TRIES = 8

/**
 * Acquires what was claimed. A line keeps its kind while anybody stands in it, and two kinds suit `run`: a mutex, which
 * can't be shared, and a read-write lock. So the exclusive claim takes whichever is there. The shared claim takes a
 * mutex if it must: to hold alone is more than was asked for, never less.
 */
export async function acquire(hf: Holdfast, name: string, claim: Claim, options: AcquireOptions): Promise<Held> {
  if (claim.kind === 'permits') {
    return hf.semaphore(name, claim.of).acquire({ ...options, permits: claim.permits })
  }
  const rw = hf.rwLock(name)
  const mutex = hf.mutex(name)
  const ways: readonly Lock[] = claim.kind === 'shared' ? [rw.read, mutex] : [mutex, rw.write]
  const waitMs = options.waitMs ?? Number.POSITIVE_INFINITY
  const until = performance.now() + waitMs
  for (let tries = 1; ; tries++) {
    const way = ways[(tries - 1) % ways.length] as Lock
    try {
      return await way.acquire({ ...options, waitMs: waitMs === 0 ? 0 : Math.max(0, until - performance.now()) })
    } catch (error) {
      if (error instanceof AcquireTimeoutError && waitMs > 0) {
        // The last try may have had only the rest of the time: say how long all tries took together.
        throw new AcquireTimeoutError(`lock ${JSON.stringify(name)} stayed held by others for ${waitMs} ms`, {
          line: name,
          cause: error,
        })
      }
      if (!(error instanceof CapacityMismatchError) || tries === TRIES) throw error
    }
  }
}
