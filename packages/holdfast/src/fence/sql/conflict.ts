/** What a database's refusal means for the transaction that a guard is part of. */
import { HoldfastError, StoreError } from '../../contract/errors.ts'

/**
 * The database ended or blocked the transaction because of another one. Roll back and run the whole transaction again.
 */
export class TransactionConflictError extends HoldfastError {
  readonly code = 'HF_CONFLICT'
}

/**
 * PostgreSQL: serialization failure (at REPEATABLE READ and above: a newer check was committed since the snapshot),
 * deadlock, lock time-out. MySQL: deadlock, lock time-out; MariaDB: changed since the snapshot. SQLite: another
 * connection writes.
 */
const CONFLICTS = new Set(['40001', '40P01', '55P03', '1213', '1205', '1020', '5', '6'])
const MISSING = new Set(['42P01', '1146'])

/**
 * Translates conflicts and a missing table. Any other error is between the caller and the client, and stays as it is.
 */
export function translated(error: unknown, table: string, line?: string): unknown {
  const code = codeOf(error)
  const detail = { ...(line === undefined ? {} : { line }), cause: error }
  const text = error instanceof Error ? error.message : String(error)
  if (CONFLICTS.has(code)) {
    return new TransactionConflictError(
      `the guard's transaction met another one: ${text}; run it again as a whole`,
      detail,
    )
  }
  if (MISSING.has(code) || /^no such table\b/.test(text)) {
    return new StoreError(
      `the guard's table ${JSON.stringify(table)} is missing: await guard.setup(db), or run the SQL of ` +
        `guard.migration()`,
      detail,
    )
  }
  return error
}

/** PostgreSQL's state, MySQL's number, or SQLite's primary result code. */
function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  const { code, errno, errcode, rawCode } = error as Record<string, unknown>
  const sqlite = errcode ?? rawCode
  if (typeof sqlite === 'number') return String(sqlite & 0xff)
  // better-sqlite3 gives names instead of numbers.
  if (typeof code === 'string' && /^SQLITE_(BUSY|LOCKED)/.test(code)) return '5'
  if (typeof errno === 'number' && errno > 1_000) return String(errno)
  return typeof code === 'string' ? code : ''
}
