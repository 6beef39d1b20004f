/**
 * The statements of the store: a dialect writes each text with named values ($line, $id), the driver gives those
 * values.
 */
import type { Change, Demand, Entry } from '../../contract/driver.ts'
import { hex } from './hex.ts'
import { US } from './places.ts'
import { makeStatement, type Reply, type Seat, type Session, type Statement } from './session.ts'
import { type Judge, settle } from './settling.ts'

/** What both dialects have. */
export type StatementName =
  | 'enterShort'
  | 'enterJoined'
  | 'enter'
  | 'enterAll'
  | 'rename'
  | 'reweigh'
  | 'take'
  | 'touch'
  | 'leaveShort'
  | 'leaveJoined'
  | 'leave'
  | 'break'
  | 'swap'
  | 'sweep'
  | 'list'
  | 'poll'
  | 'stamps'

/** What a statement may be given: those that its text names. */
export interface Values extends Partial<Entry> {
  readonly wait?: boolean
  readonly newId?: string
  readonly turn?: number
  readonly afterMs?: number
  /** Whether whoever leaves lets go of a lock of its session, too. */
  readonly rings?: boolean
  readonly now?: boolean
  readonly entries?: readonly Entry[]
  readonly places?: readonly Pick<Entry, 'line' | 'id'>[]
  readonly lines?: readonly string[]
  /** Lines, and what each looked like. */
  readonly stamped?: readonly (readonly [line: string, stamp: string])[]
  readonly demand?: Demand
  readonly change?: Change | null
  readonly channel?: string
  readonly payload?: string
}

/** How one named value travels. */
export type Write = (values: Values) => unknown

/** How a dialect writes what the two write differently. */
export interface Encoding {
  id(id: string): unknown
  text(text: string): unknown
  flag(is: boolean): unknown
}

export interface QueriesParts<Own extends string> {
  readonly session: Session
  readonly judge: Judge
  readonly statements: Record<StatementName | Own, string>
  readonly encoding: Encoding
  /** Named values of the dialect's own. */
  readonly own: Record<string, Write>
  /** Puts the names of tables and routines into a text. */
  render(text: string): string
  /** The mark of the nth value; null: '?', and a value that is named twice is sent twice. */
  readonly mark: ((n: number) => string) | null
}

interface Query {
  readonly statement: Statement
  readonly writes: readonly Write[]
}

export class Queries<Own extends string = never> {
  readonly #session: Session
  readonly #judge: Judge
  readonly #queries: Record<StatementName | Own, Query>

  constructor({ session, judge, statements, encoding, own, render, mark }: QueriesParts<Own>) {
    this.#session = session
    this.#judge = judge
    const writers = { ...commonWriters(encoding), ...own }
    const queries = Object.entries<string>(statements).map(([name, text]) => {
      const named: string[] = []
      const marked = text.replace(/\$([a-z]\w*)/g, (_, value: string) => {
        if (mark === null || !named.includes(value)) named.push(value)
        return mark === null ? '?' : mark(named.indexOf(value) + 1)
      })
      const statement = makeStatement(name, render(marked))
      return [name, { statement, writes: named.map((value) => writers[value] as Write) }]
    })
    this.#queries = Object.fromEntries(queries) as Record<StatementName | Own, Query>
  }

  /** One round trip. */
  ask(name: StatementName | Own, values: Values, seat?: Seat): Promise<Reply> {
    const { statement, values: written } = this.write(name, values)
    return settle(() => this.#session.run(statement, written, seat), this.#judge)
  }

  /** As it is sent. */
  write(name: StatementName | Own, values: Values): { readonly statement: Statement; readonly values: unknown[] } {
    const { statement, writes } = this.#queries[name]
    return { statement, values: writes.map((write) => write(values)) }
  }
}

/** The first column of the first row. */
export function answerOf({ rows }: Reply): string | null {
  return (rows[0]?.[0] ?? null) as string | null
}

/** As text: a client library would send a number as a double. */
function us(ms = 0): string {
  return String(Math.round(ms * US))
}

function commonWriters({ id, text, flag }: Encoding): Record<string, Write> {
  return {
    line: ({ line = '' }) => Buffer.from(line),
    id: (values) => id(values.id as string),
    newId: ({ newId }) => id(newId as string),
    weight: ({ weight }) => weight,
    capacity: ({ capacity }) => capacity,
    ttl: ({ ttlMs }) => us(ttlMs),
    after: ({ afterMs }) => us(afterMs),
    data: ({ data = '' }) => text(data),
    turn: ({ turn }) => turn,
    wait: ({ wait = false }) => flag(wait),
    now: ({ now = false }) => flag(now),
    rings: ({ rings = false }) => flag(rings),
    entries: ({ entries = [] }) =>
      text(
        JSON.stringify(
          entries.map((entry) => {
            const { line, weight, capacity, ttlMs, data } = entry
            return [hex(line), entry.id, weight, capacity, Math.round(ttlMs * US), data]
          }),
        ),
      ),
    cost: ({ demand }) => String(demand?.cost),
    burst: ({ demand }) => String(demand?.burst),
    unit: ({ demand }) => String(demand?.unit),
    drain: ({ demand }) => String(demand?.drain),
    shutAfter: ({ demand }) => String(demand?.shutAfter),
    shut: ({ demand }) => us(demand?.shutMs),
    changes: ({ change }) => flag(change !== null),
    version: ({ change }) => String(change?.version ?? 0n),
    next: ({ change }) => (change?.next === undefined || change.next === null ? null : text(change.next)),
    keep: ({ change }) => us(change?.ttlMs),
    idle: () => SWEEP_IDLE_US,
    most: () => SWEEP_ROWS_MAX,
  }
}

/** A line that nobody has entered for so long is idle. */
const SWEEP_IDLE_US = 600_000_000
/** In one statement. */
export const SWEEP_ROWS_MAX = 1_000
