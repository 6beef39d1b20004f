/** What stands in front of a place, read in one statement and only as far as it takes to say "blocked". */
import type { Entry } from '../../driver.ts'
import { NOBODY } from './census.ts'
import type { Engine, Statement } from './engine.ts'

export interface Front {
  readonly ahead: number
  readonly count: number
  /** When the first of them lapses, or should have. */
  readonly dueAt: number | null
  /** When the first that has not yet lapsed will. */
  readonly nextAt: number | null
  /** The lowest and the highest capacity among them; they differ only while some have lapsed. */
  readonly low: number | null
  readonly high: number | null
  /** Who they are: keys of the census, with commas. */
  readonly keys: string | null
}

/** The same, and what else a new place must know. */
export interface Gate extends Front {
  readonly lastToken: number
  readonly boot: string
  /** Until when an enter of this id comes too late. */
  readonly deadUntil: number | null
}

/** The same, and whether somebody stands behind. */
export interface Outlook extends Front {
  readonly wanted: number
}

// No DISTINCT here: SQLite would make a temporary table for it, which costs more than all the rest.
const FRONT = `count(*) AS count, coalesce(sum(weight), 0) AS ahead, min(lapses_at) AS dueAt,
  min(iif(lapses_at > ?, lapses_at, NULL)) AS nextAt, min(capacity) AS low, max(capacity) AS high,
  group_concat(process || coalesce(',' || also, '')) AS keys
  FROM (SELECT weight, lapses_at, capacity, process, also FROM place WHERE line = ? AND token < ? ORDER BY token LIMIT +?)`

const TOKEN_MAX = 2 ** 53

export class Fronts {
  readonly #gate: Statement
  readonly #outlook: Statement

  constructor(engine: Engine) {
    this.#gate = engine.prepare(
      `SELECT (SELECT token FROM host) AS lastToken, (SELECT boot FROM host) AS boot,
       (SELECT until FROM grave WHERE id = ?) AS deadUntil, ${FRONT}`,
    )
    this.#outlook = engine.prepare(
      `SELECT EXISTS (SELECT 1 FROM place WHERE line = ? AND token > ?) AS wanted, ${FRONT}`,
    )
  }

  gate(entry: Entry, now: number): Gate {
    return this.#gate.get(entry.id, now, entry.line, TOKEN_MAX, span(entry.capacity, entry.weight)) as Gate
  }

  outlook(entry: Entry, token: number, now: number): Outlook {
    const { line, capacity, weight } = entry
    return this.#outlook.get(line, token, now, line, token, span(capacity, weight)) as Outlook
  }
}

/** Each place weighs at least 1: with so many in front the answer is "blocked", whatever comes after. */
function span(capacity: number, weight: number): number {
  return capacity - weight + 1
}

export function keysOf(front: Front): number[] {
  return front.keys === null ? [] : [...new Set(front.keys.split(','))].map(Number).filter((key) => key !== NOBODY)
}
