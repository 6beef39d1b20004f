/** A large step of a wall clock. */
import type { Random } from './random.ts'

const HOUR_MS = 3_600_000

/** An hour forward or back, as by a wrong time zone or an empty battery. */
export function anHour(random: Random): number {
  return random.chance(0.5) ? HOUR_MS : -HOUR_MS
}
