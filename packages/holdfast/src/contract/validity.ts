/**
 * How long a caller may trust an answer of the store: the time counts from before the request was sent, minus what two
 * clocks may drift apart.
 */

/** Clocks run at different rates, so a client gives a lease up a little before the store may. */
export function driftMs(ttlMs: number): number {
  return ttlMs * 0.01 + 2
}

/** The part of the lease that a holder may use. */
export function usableMs(ttlMs: number): number {
  return Math.max(0, ttlMs - driftMs(ttlMs))
}

/** A heartbeat comes at a third of the lease. Two may fail, and the third still comes in time. */
export function renewMs(ttlMs: number): number {
  return ttlMs / 3
}

export { instant } from './driver.ts'
