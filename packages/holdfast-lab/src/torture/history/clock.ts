/** The clock of a history. */
import type { Micros } from './event.ts'

/** CLOCK_MONOTONIC is common to all processes of one host, so that their events compare without skew. */
export function micros(): Micros {
  return Number(process.hrtime.bigint() / 1_000n)
}
