/** The guard on MySQL and MariaDB. */
import { UsageError } from '../../contract/errors.ts'
import type { MysqlTransaction } from '../../stores/sql/mysql/transaction.ts'
import { type Proof, staleToken } from '../proof.ts'
import type { Part } from './part.ts'

export const mysql: Part<MysqlTransaction> = { create, check, forget, setUp }

function create(table: string): string {
  return `CREATE TABLE IF NOT EXISTS ${table} (
  resource VARBINARY(512) NOT NULL PRIMARY KEY,
  token BIGINT NOT NULL,
  place CHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL
) ENGINE = InnoDB`
}

/**
 * Inserts the row or locks the one that is there, and never lowers it. An UPDATE that finds no row would lock the gap,
 * and two that then insert into it would deadlock; this locks a record only. `place` comes first: it looks at the old
 * token.
 */
const remember = (table: string): string => `INSERT INTO ${table} (resource, token, place) VALUES (?, ?, ?)
ON DUPLICATE KEY UPDATE place = IF(token < VALUES(token), VALUES(place), place), token = GREATEST(token, VALUES(token))`

/** Compared as integers: a BIGINT and a string would be compared as doubles, which tell nothing apart above 2^53. */
const judge = (
  table: string,
): string => `SELECT token = CAST(? AS SIGNED) AND place = ? AS passed, CAST(token AS CHAR) AS newest
FROM ${table} WHERE resource = ? FOR UPDATE`

const erase = (table: string): string => `DELETE FROM ${table} WHERE resource = ?`

async function check(tx: MysqlTransaction, table: string, resource: string, proof: Proof): Promise<void> {
  const key = Buffer.from(resource)
  const token = String(proof.token)
  // A savepoint outlives its statement only inside a transaction.
  await tx.query('SAVEPOINT holdfast_fence', [])
  await tx.query(remember(table), [key, token, proof.place])
  await release(tx)
  const [rows] = await tx.query(judge(table), [token, proof.place, key])
  const [row] = rows as readonly { readonly passed: number | string; readonly newest: string }[]
  if (row === undefined)
    throw new UsageError(`${JSON.stringify(resource)} was forgotten inside the transaction that checks it`)
  if (Number(row.passed) !== 1) throw staleToken(resource, proof, BigInt(row.newest))
}

async function forget(tx: MysqlTransaction, table: string, resource: string): Promise<void> {
  await tx.query(erase(table), [Buffer.from(resource)])
}

async function setUp(tx: MysqlTransaction, table: string): Promise<void> {
  await tx.query(create(table), [])
}

async function release(tx: MysqlTransaction): Promise<void> {
  try {
    await tx.query('RELEASE SAVEPOINT holdfast_fence', [])
  } catch (error) {
    if ((error as { readonly errno?: unknown }).errno !== 1305) throw error
    throw new UsageError('a guard needs a connection inside a transaction: what it checked must commit with the write')
  }
}
