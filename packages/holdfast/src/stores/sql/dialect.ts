/** What differs between PostgreSQL and MySQL: the texts of the statements, and how a waiter is told. */
import type { Entry, Place } from '../../contract/driver.ts'
import type { Queries } from './queries.ts'
import type { Seat } from './session.ts'
import type { Waiters } from './waiters.ts'

export interface Dialect {
  readonly name: string
  readonly queries: Queries
  readonly wakeups: Wakeups
  /** How many calls of one turn are worth two statements: what a statement costs besides its lines differs. */
  readonly halvesFrom: number
  /** Enters or leaves of several lines in one step (batch.ts); the answers as `readAnswers` takes them. */
  joined(name: 'enterJoined' | 'leaveJoined', entries: readonly Entry[]): Promise<string | null>
  /** The answers to several places, in their order. */
  readAnswers(answer: string, count: number): readonly (string | null)[]
  /** Makes the tables and routines if they are missing or older. */
  setup(): Promise<void>
  close(): Promise<void>
}

/** How waiters of this process are woken. */
export interface Wakeups {
  readonly waiters: Waiters
  /** Waiters are told that they are granted; else they are polled for, and only hinted at. */
  readonly isTold: boolean
  /** Before somebody waits. null: it is settled how waiters are woken; else a promise of that. */
  start?(): Promise<void> | null
  /** Every change of the line is told from now on. */
  observe(line: string): Promise<void>
  /** Takes note of an answer about a place, and of the seat that has given it. */
  answered?(id: string, place: Place | null, seat: Seat | null): void
  /** Where a place must be left so that the next is told. */
  seatOf?(id: string): Seat | undefined
  close(): Promise<void>
}
