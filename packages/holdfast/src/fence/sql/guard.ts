/** A guard for data in a SQL database: a table of newest tokens, checked inside the caller's own transaction. */
import { checkKeys, checkName, checkOneOf, shown } from '../../contract/check.ts'
import { UsageError } from '../../contract/errors.ts'
import type { Held } from '../../hold/held.ts'
import type { MysqlTransaction } from '../../stores/sql/mysql/transaction.ts'
import { type OrmTransaction, ormTransaction } from '../../stores/sql/orm.ts'
import type { PgTransaction, PostgresTransaction } from '../../stores/sql/postgres/transaction.ts'
import type { Dialect, SqliteDatabase } from '../../optimistic/database.ts'
import { quoteTable } from '../../optimistic/text.ts'
import { type Proof, proofOf } from '../proof.ts'
import { translated } from './conflict.ts'
import { mysql } from './mysql.ts'
import type { Part } from './part.ts'
import { postgres } from './postgres.ts'
import { sqlite } from './sqlite.ts'

/**
 * A `pg` client or the object of `sql.begin`, a connection of `mysql2` or `mariadb`, or a SQLite database: inside a
 * transaction. On PostgreSQL, MySQL and MariaDB also the transaction of Prisma, Drizzle, Kysely, Knex, TypeORM or
 * Sequelize.
 */
export type SqlTransaction = PgTransaction | PostgresTransaction | MysqlTransaction | SqliteDatabase | OrmTransaction

/** Options of `sqlGuard`. */
export interface SqlGuardOptions {
  /** The guard's table; `schema.table` is allowed. Default 'holdfast_fence'. */
  readonly table?: string
}

/** Guards rows of PostgreSQL, MySQL, MariaDB or SQLite. */
export interface SqlGuard {
  /**
   * Passes the newest token and remembers it; throws StaleTokenError for an older one. Other checks of this resource
   * wait until the transaction ends. Call it first in the transaction: what you read before may be out of date.
   */
  check(tx: SqlTransaction, resource: string, held: Held | Proof): Promise<void>
  /** The same without a promise, for a transaction of SQLite that can't wait. */
  checkSync(tx: SqliteDatabase, resource: string, held: Held | Proof): void
  /**
   * Forgets a resource: when it is gone for good, or before its lock moves to another store, whose tokens may be lower.
   */
  forget(tx: SqlTransaction, resource: string): Promise<void>
  /** Creates the table if it is missing. Takes what `check` takes, or a pool. */
  setup(db: SqlTransaction): Promise<void>
  /** The SQL that `setup` would run, for your own migrations. */
  migration(dialect: 'postgres' | 'mysql' | 'sqlite'): string
}

/** The part for the given client. */
interface Client {
  readonly dialect: Dialect
  check(table: string, resource: string, proof: Proof): Promise<void> | void
  forget(table: string, resource: string): Promise<void> | void
  setUp(table: string): Promise<void> | void
}

const PARTS: Record<Dialect, Pick<Part<never>, 'create'>> = { postgres, mysql, sqlite }

/** Makes the guard of a database. */
export function sqlGuard(options?: SqlGuardOptions): SqlGuard {
  const { table = 'holdfast_fence' } = checkKeys('sqlGuard options', options, ['table']) as SqlGuardOptions
  const names: Record<Dialect, string> = {
    postgres: quoteTable('postgres', table),
    mysql: quoteTable('mysql', table),
    sqlite: quoteTable('sqlite', table),
  }
  // mysql2 takes every ? for a value, even inside a quoted name.
  if (table.includes('?')) throw new UsageError(`table must be a name without ?, given ${shown(table)}`)
  return {
    async check(tx, resource, held) {
      checkName('a resource', resource)
      const proof = proofOf(held)
      const client = clientOf(tx)
      try {
        await client.check(names[client.dialect], resource, proof)
      } catch (error) {
        throw translated(error, table, proof.line)
      }
    },
    checkSync(tx, resource, held) {
      checkName('a resource', resource)
      const proof = proofOf(held)
      if (clientOf(tx).dialect !== 'sqlite') {
        throw new UsageError('checkSync is for SQLite databases only; await guard.check() instead')
      }
      try {
        sqlite.check(tx, names.sqlite, resource, proof)
      } catch (error) {
        throw translated(error, table, proof.line)
      }
    },
    async forget(tx, resource) {
      checkName('a resource', resource)
      const client = clientOf(tx)
      try {
        await client.forget(names[client.dialect], resource)
      } catch (error) {
        throw translated(error, table)
      }
    },
    async setup(db) {
      const client = clientOf(db)
      await client.setUp(names[client.dialect])
    },
    migration(dialect) {
      checkOneOf('dialect', dialect, Object.keys(PARTS))
      return `${PARTS[dialect].create(names[dialect])};\n`
    },
  }
}

function clientOf(tx: SqlTransaction): Client {
  const mapped = ormTransaction(tx)
  if (mapped?.dialect === 'postgres') return bound('postgres', postgres, mapped.tx)
  if (mapped?.dialect === 'mysql') return bound('mysql', mysql, mapped.tx)
  if ((typeof tx === 'object' && tx !== null) || typeof tx === 'function') {
    if ('unsafe' in tx && typeof tx.unsafe === 'function') return bound('postgres', postgres, tx)
    if ('query' in tx && typeof tx.query === 'function') {
      // pg, mysql2 and mariadb have query; only the clients of MySQL have execute as well.
      if ('execute' in tx) return bound('mysql', mysql, tx as MysqlTransaction)
      return bound('postgres', postgres, tx as PgTransaction)
    }
    if ('prepare' in tx && typeof tx.prepare === 'function') return bound('sqlite', sqlite, tx)
  }
  throw new UsageError(
    `a guard needs a pg client, a postgres.js transaction, a mysql2/promise connection or a SQLite database, ` +
      `given ${shown(tx)}`,
  )
}

function bound<T>(dialect: Dialect, part: Part<T>, tx: T): Client {
  return {
    dialect,
    check: (table, resource, proof) => part.check(tx, table, resource, proof),
    forget: (table, resource) => part.forget(tx, table, resource),
    setUp: (table) => part.setUp(tx, table),
  }
}
