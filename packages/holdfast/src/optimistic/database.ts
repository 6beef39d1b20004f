/**
 * The user's own database as the optimistic lock sees it: read rows, write, and count. Only the members that we call
 * are typed.
 */
import { shown } from '../contract/check.ts'
import { UsageError } from '../contract/errors.ts'

/** What a column may hold. */
export type SqlValue = string | number | bigint | boolean | null | Uint8Array | object
/** A row of a table, by column. */
export type Row = Record<string, SqlValue>
export type Dialect = 'postgres' | 'mysql' | 'sqlite'

/** A `pg` Pool or Client. */
export interface PgDatabase {
  query(
    text: string,
    values: unknown[],
  ): Promise<{ readonly rows: readonly unknown[]; readonly rowCount: number | null }>
}

/** A `postgres` sql object. */
export interface PostgresDatabase {
  unsafe(text: string, values: never[]): PromiseLike<readonly unknown[] & { readonly count: number | null }>
}

/** A pool or connection of `mysql2/promise`. */
export interface MysqlDatabase {
  execute(sql: string, values: never[]): Promise<readonly [unknown, unknown]>
}

/** A database of `libsql`, `better-sqlite3` or `node:sqlite`. */
export interface SqliteDatabase {
  prepare(sql: string): {
    all(...values: never[]): unknown[]
    run(...values: never[]): { readonly changes: number | bigint }
  }
}

/** A database of yours, by its own client. */
export type UserDatabase = PgDatabase | PostgresDatabase | MysqlDatabase | SqliteDatabase

export interface Database {
  readonly dialect: Dialect
  read(sql: string, values: readonly SqlValue[]): Promise<Row[]>
  /** Returns how many rows matched. */
  write(sql: string, values: readonly SqlValue[]): Promise<number>
  /** A whole number as a parameter. */
  big(value: bigint): SqlValue
}

export function toDatabase(db: UserDatabase): Database {
  if ((typeof db === 'object' && db !== null) || typeof db === 'function') {
    // mysql2 also has query, and postgres.js has only `unsafe`: the order of these checks tells the clients apart.
    if ('unsafe' in db && typeof db.unsafe === 'function') return postgresJs(db)
    if ('execute' in db && typeof db.execute === 'function') return mysql(db)
    if ('query' in db && typeof db.query === 'function') return pg(db)
    if ('prepare' in db && typeof db.prepare === 'function') return sqlite(db)
  }
  throw new UsageError(
    `optimistic needs a pg pool, a postgres sql object, a mysql2/promise pool or a SQLite database, given ${shown(db)}`,
  )
}

function pg(db: PgDatabase): Database {
  return {
    dialect: 'postgres',
    read: async (sql, values) => (await db.query(sql, [...values])).rows as Row[],
    write: async (sql, values) => (await db.query(sql, [...values])).rowCount ?? 0,
    big: String,
  }
}

function postgresJs(db: PostgresDatabase): Database {
  return {
    dialect: 'postgres',
    read: async (sql, values) => [...(await db.unsafe(sql, values as never[]))] as Row[],
    write: async (sql, values) => (await db.unsafe(sql, values as never[])).count ?? 0,
    big: String,
  }
}

function mysql(db: MysqlDatabase): Database {
  return {
    dialect: 'mysql',
    async read(sql, values) {
      const [rows] = await db.execute(sql, values as never[])
      return rows as Row[]
    },
    // The version always changes, so as many rows change as match, whatever the client's flags.
    async write(sql, values) {
      if (isPool(db)) return writeByPool(db, sql, values)
      const [header] = await db.execute(sql, values as never[])
      return (header as Header).affectedRows
    },
    big: String,
  }
}

interface Header {
  readonly affectedRows: number
  readonly serverStatus?: number
}

interface Pool {
  getConnection(): Promise<MysqlDatabase & { query(sql: string): Promise<unknown>; release(): void }>
}

function isPool(db: MysqlDatabase): db is MysqlDatabase & Pool {
  return 'getConnection' in db && typeof db.getConnection === 'function'
}

/** With `autocommit = 0` a connection of the pool keeps the write to itself, locked, for its next user. */
async function writeByPool(pool: Pool, sql: string, values: readonly SqlValue[]): Promise<number> {
  const connection = await pool.getConnection()
  try {
    const [header] = (await connection.execute(sql, values as never[])) as readonly [Header, unknown]
    const isOpen = ((header.serverStatus ?? 0) & 1) === 1
    if (!isOpen) return header.affectedRows
    await connection.query('ROLLBACK')
  } finally {
    connection.release()
  }
  throw new UsageError(
    'optimistic: a connection of the pool has autocommit = 0 or is inside a transaction, so the write would not ' +
      'be committed; ' +
      'set autocommit = 1, or give the connection of your own transaction',
  )
}

function sqlite(db: SqliteDatabase): Database {
  return {
    dialect: 'sqlite',
    read: async (sql, values) => db.prepare(sql).all(...(values as never[])) as Row[],
    write: async (sql, values) => Number(db.prepare(sql).run(...(values as never[])).changes),
    big: (value) => (value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value),
  }
}
