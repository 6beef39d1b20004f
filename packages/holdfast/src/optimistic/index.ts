/**
 * `holdfast/optimistic`: the optimistic lock for a table of your own: a version column, and updates that lose no other
 * update.
 */
import { onAbort } from '../contract/aborts.ts'
import { checkFunction, checkKeys, checkSpan, shown } from '../contract/check.ts'
import { AcquireTimeoutError, StoreError, UsageError } from '../contract/errors.ts'
import { type Database, type Dialect, type Row, type SqlValue, toDatabase, type UserDatabase } from './database.ts'
import { mark, quote, quoteTable } from './text.ts'

export type {
  MysqlDatabase,
  PgDatabase,
  PostgresDatabase,
  Row,
  SqliteDatabase,
  SqlValue,
  UserDatabase,
} from './database.ts'

/** Options of `optimistic`. */
export interface OptimisticOptions {
  /** The column that counts the changes: a whole number, not null. Default 'version'. */
  readonly versionColumn?: string
}

/** Options of `update`. */
export interface OptimisticUpdateOptions {
  /** How long to try again while others are faster. Default 10 000 ms; 0 tries once. */
  readonly waitMs?: number
  /** Ends the tries; the promise rejects with the reason of the signal. Default none. */
  readonly signal?: AbortSignal
}

/** Changes rows only if nobody else has changed them meanwhile. */
export interface Optimistic {
  /**
   * Reads the one row with this key, and calls `change` for the columns to write (null: leave the row as it is). Writes
   * them if the row still has the version that was read; else starts over. Returns the row as written, or null if there
   * is no such row.
   */
  update<T extends Row = Row>(
    table: string,
    key: Readonly<Record<string, SqlValue>>,
    change: (row: T) => Partial<T> | null | PromiseLike<Partial<T> | null>,
    options?: OptimisticUpdateOptions,
  ): Promise<T | null>
}

const PAUSE_MS_MIN = 2
const PAUSE_MS_MAX = 200

/**
 * For a `pg` pool or client, a `postgres` sql object, a `mysql2/promise` pool or connection, or a SQLite database with
 * `prepare`.
 */
export function optimistic(db: UserDatabase, options: OptimisticOptions = {}): Optimistic {
  checkKeys('optimistic options', options, ['versionColumn'])
  const { versionColumn = 'version' } = options
  const database = toDatabase(db)
  const version = quote(database.dialect, versionColumn)
  return {
    async update<T extends Row>(
      table: string,
      key: Readonly<Record<string, SqlValue>>,
      change: (row: T) => Partial<T> | null | PromiseLike<Partial<T> | null>,
      { waitMs = 10_000, signal }: OptimisticUpdateOptions = {},
    ): Promise<T | null> {
      checkFunction('change', change)
      checkSpan('waitMs', waitMs)
      const from = quoteTable(database.dialect, table)
      const where = new Condition(database.dialect, key)
      const until = performance.now() + waitMs
      let pauseMs = PAUSE_MS_MIN
      let lost: bigint | null = null
      for (;;) {
        signal?.throwIfAborted()
        const row = (await readOne(database, from, where)) as T | null
        if (row === null) return null
        const before = readVersion(row, versionColumn)
        if (before === lost) throw staleError(table, before)
        const changed = await change(row)
        if (changed === null) return row
        if (await writeIf(database, { from, where, version, versionColumn, before, changed })) {
          return { ...row, ...changed, [versionColumn]: alike(row[versionColumn], before + 1n) }
        }
        lost = before
        if (performance.now() >= until) {
          throw new AcquireTimeoutError(
            `a row of ${shown(table)} was changed by others during each try for ${waitMs} ms`,
          )
        }
        await pause(pauseMs * (0.5 + Math.random()), signal)
        pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX)
      }
    },
  }
}

/**
 * The write found another version, but a new read gives the old one: this reader can't see what others have written. In
 * a REPEATABLE READ transaction of MySQL no further try changes that.
 */
function staleError(table: string, version: bigint): UsageError {
  return new UsageError(
    `${shown(table)}: the write found no row of version ${version}, but a new read still gives that version. ` +
      `This connection reads an older state: ` +
      'it is inside a REPEATABLE READ transaction (use READ COMMITTED, or the pool), or reads from a replica; ' +
      'or it may not update this row',
  )
}

interface Write {
  readonly from: string
  readonly where: Condition
  readonly version: string
  readonly versionColumn: string
  readonly before: bigint
  readonly changed: Readonly<Record<string, SqlValue | undefined>>
}

async function readOne(database: Database, from: string, where: Condition): Promise<Row | null> {
  const rows = await database.read(`SELECT * FROM ${from} WHERE ${where.text(1)}`, where.values)
  if (rows.length > 1) throw new UsageError('the key of an optimistic update must name one row, and it names several')
  return rows[0] ?? null
}

/** False: somebody else was faster. */
async function writeIf(database: Database, write: Write): Promise<boolean> {
  const { dialect } = database
  const columns = Object.entries(write.changed).filter(([, value]) => value !== undefined)
  if (columns.some(([column]) => column === write.versionColumn)) {
    throw new UsageError(`the version column ${shown(write.versionColumn)} is written by update itself; leave it out`)
  }
  const sets = columns.map(([column], i) => `${quote(dialect, column)} = ${mark(dialect, i + 1)}`)
  sets.push(`${write.version} = ${write.version} + 1`)
  const at = columns.length + 1
  const sql =
    `UPDATE ${write.from} SET ${sets.join(', ')} WHERE ${write.where.text(at)} AND ${write.version} = ` +
    mark(dialect, at + write.where.values.length)
  const values = [...columns.map(([, value]) => value as SqlValue), ...write.where.values, database.big(write.before)]
  const count = await database.write(sql, values)
  if (count > 1) throw new StoreError(`an optimistic update changed ${count} rows: its key does not name one`)
  return count === 1
}

class Condition {
  readonly values: SqlValue[]
  readonly #columns: string[]
  readonly #dialect: Dialect

  constructor(dialect: Dialect, key: Readonly<Record<string, SqlValue>>) {
    if (typeof key !== 'object' || key === null || Object.keys(key).length === 0) {
      throw new UsageError(`the key must be an object of columns and values, given ${shown(key)}`)
    }
    for (const [column, value] of Object.entries(key)) {
      if (value === null || value === undefined) throw new UsageError(`the key's ${shown(column)} has no value`)
    }
    this.#dialect = dialect
    this.#columns = Object.keys(key).map((column) => quote(dialect, column))
    this.values = Object.values(key)
  }

  /** The condition, with marks counted from `at`. */
  text(at: number): string {
    return this.#columns.map((column, i) => `${column} = ${mark(this.#dialect, at + i)}`).join(' AND ')
  }
}

function readVersion(row: Row, column: string): bigint {
  const value = row[column]
  if (typeof value === 'bigint') return value
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value)
  if (typeof value === 'string' && /^-?\d+$/.test(value)) return BigInt(value)
  throw new UsageError(
    `the version column ${shown(column)} must hold a whole number (below 2^53 if as a number), found ${shown(value)}`,
  )
}

/** The new version in the form in which the client gave the old one. */
function alike(old: SqlValue | undefined, version: bigint): SqlValue {
  if (typeof old === 'number') return Number(version)
  return typeof old === 'string' ? String(version) : version
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(end, ms)
    const forget = signal === undefined ? null : onAbort(signal, abort)
    function end(): void {
      forget?.()
      resolve()
    }
    function abort(): void {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
  })
}
