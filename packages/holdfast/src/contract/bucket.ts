/**
 * A rate limit in whole numbers: the generic cell rate algorithm, as a bucket that drains. Stores without scripts
 * compute it here.
 */
import type { Demand, Taken } from './driver.ts'

/** What a store keeps of a bucket. Times are microseconds of the store's clock. */
export interface Bucket {
  /** What callers have taken and what has not drained yet, in units. */
  readonly level: number
  readonly atUs: number
  /** How many requests were refused since the bucket was last empty. */
  readonly refused: number
  /** 0 when the key is not shut. */
  readonly shutUntilUs: number
}

export const EMPTY: Bucket = Object.freeze({ level: 0, atUs: 0, refused: 0, shutUntilUs: 0 })

/** Computes the new bucket, the answer to the demand, and how long the bucket must be remembered (0: not at all). */
export function takeFrom(
  bucket: Bucket,
  { cost, burst, unit, drain, shutAfter, shutMs }: Demand,
  nowUs: number,
): { readonly bucket: Bucket; readonly keepMs: number; readonly taken: Taken } {
  // A clock that went back drains nothing. Nobody waits for that clock to catch up either: neither for the bucket to
  // drain nor for the key to open.
  let level = Math.max(0, bucket.level - Math.max(0, nowUs - bucket.atUs) * drain)
  let { refused, shutUntilUs } = bucket
  if (shutAfter > 0) shutUntilUs = Math.min(shutUntilUs, nowUs + shutMs * 1_000)
  if (level === 0 && shutUntilUs <= nowUs) refused = 0

  const room = burst * unit - level
  let taken = false
  let retryUs = 0
  if (shutUntilUs > nowUs) {
    retryUs = shutUntilUs - nowUs
  } else if (cost * unit <= room) {
    taken = true
    level += cost * unit
  } else {
    refused += cost
    retryUs = Math.ceil((cost * unit - room) / drain)
    if (shutAfter > 0 && refused > shutAfter) {
      shutUntilUs = nowUs + shutMs * 1_000
      refused = 0
      retryUs = shutMs * 1_000
    }
  }

  const resetUs = Math.ceil(level / drain)
  const shut = shutUntilUs > nowUs
  const keepUs = Math.max(resetUs, shutUntilUs - nowUs)
  return {
    bucket: { level, atUs: nowUs, refused, shutUntilUs: shut ? shutUntilUs : 0 },
    keepMs: Math.max(0, Math.ceil(keepUs / 1_000)),
    taken: {
      taken,
      left: shut ? 0 : Math.floor((burst * unit - level) / unit),
      retryMs: retryUs / 1_000,
      resetMs: resetUs / 1_000,
      shut,
    },
  }
}
