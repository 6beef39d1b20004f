/** A step of a wall clock that nobody overlooks. */
import type { Random } from './random.ts'

const HOUR_MS = 3_600_000

/** As by a wrong time zone, or an empty battery: an hour, this way or that. */
export function anHour(random: Random): number {
  return random.chance(0.5) ? HOUR_MS : -HOUR_MS
}
