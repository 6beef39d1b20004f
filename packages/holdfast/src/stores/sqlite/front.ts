/** What stands ahead of a place, read in one statement and only as far as it takes to say "blocked". */
import type { Entry } from '../../contract/driver.ts'
import { holdersOf } from '../shared/holders.ts'
import { NOBODY } from './census.ts'
import type { Engine, Statement } from './engine.ts'

export interface Front {
  readonly ahead: number
  readonly count: number
  /** When the first of the places ahead lapses, or should have lapsed. */
  readonly dueAt: number | null
  /** When the first of the places ahead lapses that has not lapsed yet. */
  readonly nextAt: number | null
  /** The lowest and the highest capacity among them; they differ only while some have lapsed. */
  readonly low: number | null
  readonly high: number | null
  /** Their processes: keys of the census, with commas. */
  readonly keys: string | null
}

/** The same, and what a new place must know besides. */
export interface FrontGate extends Front {
  readonly lastToken: number
  readonly boot: string
  /** Until when an enter of this id comes too late. */
  readonly deadUntil: number | null
}

/** The same, and whether another place waits: behind it, or to become heavier. */
export interface Outlook extends Front {
  readonly wanted: number
}

// No DISTINCT here: SQLite would make a temporary table for it, which costs more than all the rest.
const FRONT = `count(*) AS count, coalesce(sum(weight), 0) AS ahead, min(lapses_at) AS dueAt,
  min(iif(lapses_at > ?, lapses_at, NULL)) AS nextAt, min(capacity) AS low, max(capacity) AS high,
  group_concat(process || coalesce(',' || also, '')) AS keys
  FROM (SELECT iif(raised IS NOT NULL AND beside < ?, raised, weight) AS weight, lapses_at, capacity, process, also
    FROM places WHERE line = ? AND token <= ? AND token <> ? ORDER BY token LIMIT +?)`

const TOKEN_MAX = 2 ** 53

/** A place as the file has it: what the caller says of its weight may be out of date. */
export interface StoredPlace {
  readonly token: number
  readonly weight: number
  readonly capacity: number
  readonly raised: number | null
  readonly beside: number | null
}

export const STORED_PLACE = 'token, weight, capacity, raised, beside'

/** Its weight now, or, once those beside it have gone, in the end. */
export function weightOf({ weight, raised }: Pick<StoredPlace, 'weight' | 'raised'>): number {
  return raised ?? weight
}

export class Fronts {
  readonly #gate: Statement
  readonly #outlook: Statement

  constructor(engine: Engine) {
    this.#gate = engine.prepare(
      `SELECT (SELECT token FROM host) AS lastToken, (SELECT boot FROM host) AS boot,
       (SELECT until FROM grave WHERE id = ?) AS deadUntil, ${FRONT}`,
    )
    // Grants are a prefix of the line: if its last place is granted, only a place that wants to become heavier waits.
    this.#outlook = engine.prepare(
      `SELECT coalesce((SELECT granted = 0 FROM places WHERE line = ? AND token > ? ORDER BY token DESC LIMIT 1), 0)
       OR EXISTS (SELECT 1 FROM places WHERE line = ? AND raised IS NOT NULL AND granted = 0 AND token <> ?) AS wanted,
       ${FRONT}`,
    )
  }

  gate(entry: Entry, now: number): FrontGate {
    const limit = span(entry.capacity, entry.weight)
    return this.#gate.get(entry.id, now, TOKEN_MAX, entry.line, TOKEN_MAX, TOKEN_MAX, limit) as FrontGate
  }

  /** A raised place waits for all places that were granted beside it, even for those behind it. */
  outlook(line: string, place: StoredPlace, now: number): Outlook {
    const { token, capacity, beside } = place
    const limit = span(capacity, weightOf(place))
    return this.#outlook.get(line, token, line, token, now, token, line, beside ?? token, token, limit) as Outlook
  }
}

/** Each place weighs at least 1: with so many ahead the answer is "blocked", whatever comes after. */
function span(capacity: number, weight: number): number {
  return capacity - weight + 1
}

export function keysOf(front: Front): number[] {
  return front.keys === null ? [] : [...new Set(front.keys.split(','))].map(Number).filter((key) => key !== NOBODY)
}

/** The places granted now, given the first places of a line in order. */
export function grantedOf<P extends StoredPlace>(places: readonly P[]): P[] {
  const raised = places.find((place) => place.raised !== null)
  return holdersOf(places, places[0]?.capacity ?? 0, ({ token }) =>
    raised !== undefined && token > (raised.beside ?? token) ? weightOf(raised) - raised.weight : 0,
  )
}
