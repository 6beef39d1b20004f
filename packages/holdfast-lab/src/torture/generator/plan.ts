/** Plans what a client does next. The plan knows lines and chance, and nothing of locks. */
import type { LineKind, LineSpec } from '../history/event.ts'
import type { Random } from '../random.ts'
import type { Errand, ErrandKind, Pace, Visit } from './errand.ts'
import { drawReaders } from './readers.ts'
import { drawSeveral } from './several.ts'
import { drawUpgrade } from './upgrade.ts'

/** How many there may be of each kind of line. */
const READERS_MAX = 1_000_000
const PERMITS = 3
/** So many of the visits go to the first line, besides those that chance sends there: a crowd stands in front of it. */
const CROWDED = 0.4
/** And so many to a read-write lock: readers, writers and those who are both must meet. */
const READ = 0.15

/** Kinds for so many lines, in turn; `counting` says whether the store can share one by weight. */
export function kindsFor(count: number, counting: boolean): LineKind[] {
  const kinds: readonly LineKind[] = counting ? ['mutex', 'rw', 'mutex', 'semaphore'] : ['mutex', 'rw', 'mutex']
  return Array.from({ length: count }, (_, at) => kinds[at % kinds.length] ?? 'mutex')
}

export function makeLines(kinds: readonly LineKind[], prefix: string): LineSpec[] {
  return kinds.map((kind, at) => {
    const capacity = kind === 'mutex' ? 1 : kind === 'rw' ? READERS_MAX : PERMITS
    return { name: `${prefix}${kind}-${at + 1}`, kind, capacity }
  })
}

/** Why no line suits this errand; null: one does. */
export function lacksLines(lines: readonly LineSpec[], kind: ErrandKind): string | null {
  const count = (wanted: LineKind): number => lines.filter((line) => line.kind === wanted).length
  if (kind === 'several') return count('mutex') > 1 ? null : 'there are no two mutexes among the lines'
  if (kind === 'visit') return null
  return count('rw') > 0 ? null : 'there is no read-write lock among the lines'
}

/** @param errands the kinds that may be drawn. */
export function nextErrand(
  lines: readonly LineSpec[],
  pace: Pace,
  random: Random,
  errands: readonly ErrandKind[],
): Errand {
  const where = random.next()
  const shared = lines.find(({ kind }) => kind === 'rw')
  const line = where < CROWDED ? lines[0] : shared !== undefined && where < CROWDED + READ ? shared : random.pick(lines)
  if (line === undefined) throw new RangeError('there are no lines to visit')
  const may = (kind: ErrandKind, chance: number): boolean => random.chance(chance) && errands.includes(kind)
  if (line.kind === 'rw') {
    if (may('upgrade', 0.3)) return drawUpgrade(line, pace, random)
    if (may('readers', 0.05)) return drawReaders(line, pace, random)
  } else if (line.kind === 'mutex' && may('several', 0.08)) {
    return drawSeveral(lines, pace, random)
  }
  return drawVisit(line, pace, random)
}

function drawVisit(line: LineSpec, pace: Pace, random: Random): Visit {
  const exclusive = line.kind === 'mutex' || (line.kind === 'rw' && random.chance(0.4))
  const isLong = pace.longEvery > 0 && random.chance(1 / pace.longEvery)
  return {
    kind: 'visit',
    line,
    exclusive,
    weight: exclusive ? line.capacity : line.kind === 'semaphore' ? random.whole(1, 2) : 1,
    waitMs: random.chance(0.15) ? 0 : random.chance(0.1) ? random.whole(20, 200) : pace.waitMs,
    stayMs: isLong ? pace.ttlMs * (1.2 + random.next()) : random.next() * pace.stayMs,
    restMs: random.next() * pace.restMs,
  }
}
