/** A reader that writes once or twice. Now and then it stops waiting for the other readers. */
import type { LineSpec } from '../history/event.ts'
import type { Random } from '../random.ts'
import type { Pace, Upgrade } from './errand.ts'

export function drawUpgrade(line: LineSpec, pace: Pace, random: Random): Upgrade {
  const writes = Array.from({ length: random.whole(1, 2) }, () => ({
    waitMs: random.chance(0.2) ? random.whole(1, 100) : pace.waitMs,
    stayMs: random.next() * pace.stayMs,
  }))
  return {
    kind: 'upgrade',
    line,
    waitMs: random.chance(0.1) ? 0 : pace.waitMs,
    // Long enough for others to come and stand behind it.
    stayMs: random.next() * 2 * pace.stayMs,
    writes,
    restMs: random.next() * pace.restMs,
  }
}
