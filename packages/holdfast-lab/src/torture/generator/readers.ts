/** Fifty read locks of one process on one name. */
import type { LineSpec } from '../history/event.ts'
import type { Random } from '../random.ts'
import type { Pace, Readers } from './errand.ts'

const AT_ONCE = 30
const LATER = 20

export function drawReaders(line: LineSpec, pace: Pace, random: Random): Readers {
  // So long is somebody of the crowd inside, whoever else waits: time for a writer to come, and for others to find it
  // there.
  const lastsMs = 4 * pace.stayMs
  const readers = Array.from({ length: AT_ONCE + LATER }, (_, at) => ({
    afterMs: at < AT_ONCE ? 0 : random.next() * lastsMs,
    waitMs: random.chance(0.05) ? 0 : pace.waitMs,
    stayMs: random.next() * lastsMs,
  }))
  return { kind: 'readers', line, readers, restMs: random.next() * pace.restMs }
}
