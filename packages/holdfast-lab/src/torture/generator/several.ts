/** Two mutexes or more as one; every other time it is given up in the middle. */
import type { LineSpec } from '../history/event.ts'
import type { Random } from '../random.ts'
import type { Pace, Several } from './errand.ts'

/** Some of them come before the first answer of the store, some between two. */
const ABORT_MS = 30

export function drawSeveral(lines: readonly LineSpec[], pace: Pace, random: Random): Several {
  const mutexes = random.shuffle(lines.filter(({ kind }) => kind === 'mutex'))
  return {
    kind: 'several',
    lines: mutexes.slice(0, random.whole(2, Math.min(3, mutexes.length))),
    waitMs: random.chance(0.2) ? 0 : pace.waitMs,
    stayMs: random.next() * pace.stayMs,
    abortMs: random.chance(0.5) ? random.next() * ABORT_MS : null,
    restMs: random.next() * pace.restMs,
  }
}
