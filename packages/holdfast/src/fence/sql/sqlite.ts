/** The guard on SQLite: all of it synchronous, so that it fits into a synchronous transaction. */
import { UsageError } from '../../contract/errors.ts'
import type { SqliteDatabase } from '../../optimistic/database.ts'
import { type Proof, staleToken } from '../proof.ts'
import type { Part } from './part.ts'

export const sqlite: Part<SqliteDatabase, void> = { create, check, forget, setUp }

function create(table: string): string {
  return (
    `CREATE TABLE IF NOT EXISTS ${table} (resource BLOB PRIMARY KEY, token INTEGER NOT NULL, place TEXT NOT NULL) ` +
    `WITHOUT ROWID`
  )
}

/**
 * Tokens are sent and read as text, so it does not matter how a client treats big integers. The write lock that this
 * statement takes lasts until the commit.
 */
const remember = (
  table: string,
): string => `INSERT INTO ${table} AS old (resource, token, place) VALUES (CAST(? AS BLOB), CAST(? AS INTEGER), ?)
ON CONFLICT (resource) DO UPDATE SET token = excluded.token, place = excluded.place
WHERE old.token < excluded.token OR old.token = excluded.token AND old.place = excluded.place`

const newest = (table: string): string =>
  `SELECT CAST(token AS TEXT) AS token FROM ${table} WHERE resource = CAST(? AS BLOB)`

const erase = (table: string): string => `DELETE FROM ${table} WHERE resource = CAST(? AS BLOB)`

function check(db: SqliteDatabase, table: string, resource: string, proof: Proof): void {
  assertTransaction(db)
  const { changes } = run(db, remember(table), [resource, String(proof.token), proof.place])
  if (Number(changes) > 0) return
  const [row] = db.prepare(newest(table)).all(...([resource] as never[]))
  throw staleToken(resource, proof, BigInt((row as { readonly token: string }).token))
}

function forget(db: SqliteDatabase, table: string, resource: string): void {
  run(db, erase(table), [resource])
}

function setUp(db: SqliteDatabase, table: string): void {
  run(db, create(table), [])
}

/** If the client does not say whether there is a transaction, SQLite does: inside one, another can't begin. */
function assertTransaction(
  db: SqliteDatabase & { readonly inTransaction?: unknown; readonly isTransaction?: unknown },
): void {
  const said = db.inTransaction ?? db.isTransaction
  if (said === true) return
  if (said === undefined) {
    try {
      run(db, 'BEGIN', [])
    } catch (error) {
      if (error instanceof Error && /within a transaction/.test(error.message)) return
      throw error
    }
    run(db, 'ROLLBACK', [])
  }
  throw new UsageError(
    'a guard needs a database inside a transaction (BEGIN), so that its check commits together with your write',
  )
}

function run(db: SqliteDatabase, sql: string, values: readonly string[]): { readonly changes: number | bigint } {
  return db.prepare(sql).run(...(values as never[]))
}
