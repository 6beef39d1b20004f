/** Reads what both SQL stores answer to a wish to take; they keep the bucket, what follows from it is counted here. */
import type { Demand, Taken } from '../../contract/driver.ts'
import { US } from './places.ts'

/** `taken,level,retry,shut`: contract/bucket.ts, in whole numbers. */
export function readTaken(answer: unknown, { burst, unit, drain }: Demand): Taken {
  const [taken, level = 0, retryUs = 0, shut] = String(answer).split(',').map(Number)
  return {
    taken: taken === 1,
    left: shut === 1 ? 0 : Math.floor((burst * unit - level) / unit),
    retryMs: retryUs / US,
    resetMs: Math.ceil(level / drain) / US,
    shut: shut === 1,
  }
}
