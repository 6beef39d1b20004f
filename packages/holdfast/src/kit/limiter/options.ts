/** The options of a rate limit, checked once and turned into whole numbers. */
import { checkKeys, checkOneOf, checkSpan, checkWhole, shown } from '../../contract/check.ts'
import { UsageError } from '../../contract/errors.ts'
import type { Demand } from '../../contract/driver.ts'

/** Options of `limiter`. */
export interface LimiterOptions {
  /** How many calls in `perMs`. 1 to 1 000 000 000. */
  readonly limit: number
  /** The period, in whole milliseconds. 1 to 2 678 400 000 (31 days). */
  readonly perMs: number
  /** How many calls at once after a rest. Default `limit`; 1 to 1 000 000 000. */
  readonly burst?: number
  /** Shuts a key whose caller goes on asking. Default: never. Not together with `batch`. */
  readonly penalty?: Penalty
  /**
   * While the store is silent or refuses to count: 'closed' (default) rejects with its StoreError, 'open' allows all
   * calls, uncounted.
   */
  readonly whenDown?: 'open' | 'closed'
  /** For very hot keys: takes many at once and hands them out in this process. Default: each take asks the store. */
  readonly batch?: Batch
}

/** Shuts a key whose caller goes on asking. */
export interface Penalty {
  /** The key is shut when more than this many calls were refused since it was last idle. 1 to 1 000 000 000. */
  readonly after: number
  /** How long the key stays shut. 1 to 2 678 400 000 (31 days). */
  readonly shutMs: number
}

/** Takes many at once from the store, for very hot keys. */
export interface Batch {
  /** How many to take at once. 2 to `burst`. */
  readonly size: number
  /** How long this process may keep them before they are lost. Default `perMs`, at most 1 000; 1 to 60 000. */
  readonly holdMs?: number
}

/** LimiterOptions with every member decided. */
export interface LimiterSettings {
  readonly limit: number
  readonly perMs: number
  readonly burst: number
  readonly whenDown: 'open' | 'closed'
  readonly batch: Required<Batch> | null
  /** The demand of one call. */
  readonly demand: Demand
}

const COUNT_MAX = 1_000_000_000
const SPAN_MS_MAX = 2_678_400_000

export function resolveLimiter(options: LimiterOptions): LimiterSettings {
  const given = checkKeys('limiter options', options, ['limit', 'perMs', 'burst', 'penalty', 'whenDown', 'batch'])
  const limit = checkWhole('limit', given.limit, 1, COUNT_MAX)
  const perMs = checkWhole('perMs', given.perMs, 1, SPAN_MS_MAX)
  const burst = given.burst === undefined ? limit : checkWhole('burst', given.burst, 1, COUNT_MAX)
  const penalty = given.penalty === undefined ? null : checkPenalty(given.penalty)
  const batch = given.batch === undefined ? null : checkBatch(given.batch, burst, perMs)
  if (penalty !== null && batch !== null) {
    throw new UsageError('penalty and batch exclude each other: refusals given in this process would not be counted')
  }
  // One call costs as many units as the period has microseconds, and `limit` units flow out in each microsecond. Both
  // numbers are divided by their common divisor.
  const common = gcd(perMs * 1_000, limit)
  const unit = (perMs * 1_000) / common
  if (burst * unit > Number.MAX_SAFE_INTEGER) {
    const most = Math.floor(Number.MAX_SAFE_INTEGER / unit)
    throw new UsageError(
      `burst must be at most ${most} for ${limit} in ${perMs} ms, or it can't be counted exactly, given ` +
        `${burst}; round limit, or take a shorter period`,
    )
  }
  const shutAfter = penalty?.after ?? 0
  return Object.freeze({
    limit,
    perMs,
    burst,
    whenDown: given.whenDown === undefined ? 'closed' : checkOneOf('whenDown', given.whenDown, ['open', 'closed']),
    batch,
    demand: Object.freeze({
      cost: 1,
      burst,
      unit,
      drain: limit / common,
      shutAfter,
      shutMs: penalty?.shutMs ?? 0,
    }),
  })
}

/** How many to take. More than the burst would never be granted. */
export function checkCost(cost: unknown, burst: number): number {
  if (typeof cost === 'number' && Number.isInteger(cost) && cost > burst) {
    throw new UsageError(`cost must be at most the burst, ${burst}, or it would never be granted, given ${shown(cost)}`)
  }
  return checkWhole('cost', cost, 1, burst)
}

/** AcquireOptions of a limiter. */
export interface TakeOptions {
  /** How many. Default 1; 1 to `burst`. */
  readonly cost?: number
  /** How long to wait. Default Infinity; 0 is one try. */
  readonly waitMs?: number
  /** Ends the wait; the promise rejects with the reason of the signal. Default none. */
  readonly signal?: AbortSignal
}

export function resolveTake(
  options: TakeOptions | undefined,
  burst: number,
): { readonly cost: number; readonly waitMs: number; readonly signal: AbortSignal | null } {
  const { cost, waitMs, signal } = checkKeys('acquire options', options, ['cost', 'waitMs', 'signal'])
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new UsageError(`signal must be an AbortSignal, given ${shown(signal)}`)
  }
  return {
    cost: cost === undefined ? 1 : checkCost(cost, burst),
    waitMs: waitMs === undefined ? Number.POSITIVE_INFINITY : checkSpan('waitMs', waitMs),
    signal: signal ?? null,
  }
}

function checkPenalty(value: unknown): Penalty {
  const { after, shutMs } = checkKeys('penalty', value, ['after', 'shutMs'])
  return {
    after: checkWhole('penalty.after', after, 1, COUNT_MAX),
    shutMs: checkWhole('penalty.shutMs', shutMs, 1, SPAN_MS_MAX),
  }
}

function checkBatch(value: unknown, burst: number, perMs: number): Required<Batch> {
  const { size, holdMs } = checkKeys('batch', value, ['size', 'holdMs'])
  if (burst < 2) throw new UsageError(`batch needs a burst of at least 2, given ${burst}`)
  return {
    size: checkWhole('batch.size', size, 2, burst),
    holdMs: holdMs === undefined ? Math.min(perMs, 1_000) : checkWhole('batch.holdMs', holdMs, 1, 60_000),
  }
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b)
}
