/** What a client does next. It knows lines and chance, nothing of locks. */
import type { LineKind, LineSpec } from '../history/event.ts'
import type { Random } from '../random.ts'

/** One visit to one line. */
export interface Errand {
  readonly line: LineSpec
  readonly exclusive: boolean
  readonly weight: number
  /** 0: one try. */
  readonly waitMs: number
  /** How long to stay inside. */
  readonly stayMs: number
  /** How long to rest before. */
  readonly restMs: number
}

export interface Pace {
  /** The longest stay; the shortest is 0. */
  readonly stayMs: number
  readonly restMs: number
  readonly waitMs: number
  /** One stay in so many outlives the lease; 0: none. */
  readonly longEvery: number
  readonly ttlMs: number
}

/** How many there may be of each kind of line. */
const READERS_MAX = 1_000_000
const PERMITS = 3
/** So many of the visits go to the first line, besides those that chance sends there: a crowd stands in front of it. */
const CROWDED = 0.4

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

export function nextErrand(lines: readonly LineSpec[], pace: Pace, random: Random): Errand {
  const line = random.chance(CROWDED) ? lines[0] : random.pick(lines)
  if (line === undefined) throw new RangeError('there are no lines to visit')
  const exclusive = line.kind === 'mutex' || (line.kind === 'rw' && random.chance(0.4))
  const isLong = pace.longEvery > 0 && random.chance(1 / pace.longEvery)
  return {
    line,
    exclusive,
    weight: exclusive ? line.capacity : line.kind === 'semaphore' ? random.whole(1, 2) : 1,
    waitMs: random.chance(0.15) ? 0 : random.chance(0.1) ? random.whole(20, 200) : pace.waitMs,
    stayMs: isLong ? pace.ttlMs * (1.2 + random.next()) : random.next() * pace.stayMs,
    restMs: random.next() * pace.restMs,
  }
}
