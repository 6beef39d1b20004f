/** The guard on MySQL and MariaDB. */
import { UsageError } from '../../contract/errors.ts'
import { hex } from '../../stores/sql/hex.ts'
import { connectionOf, insideTransaction, promised, rowsOf } from '../../stores/sql/mysql/inside.ts'
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
 * Clients differ in how they send bytes, so the resource goes as a text of hexadecimal digits. The statement inserts
 * the row or locks the existing row, and never lowers the token. An UPDATE that finds no row would lock the gap, and
 * two that then insert into the gap would deadlock; this statement locks a record only. `place` comes first, because
 * its expression reads the old token.
 */
const remember = (table: string): string => `INSERT INTO ${table} (resource, token, place) VALUES (UNHEX(?), ?, ?)
ON DUPLICATE KEY UPDATE place = IF(token < VALUES(token), VALUES(place), place), token = GREATEST(token, VALUES(token))`

/** Compares integers: MySQL compares a BIGINT and a string as doubles, which can't tell numbers above 2^53 apart. */
const judge = (
  table: string,
): string => `SELECT token = CAST(? AS SIGNED) AND place = ? AS passed, CAST(token AS CHAR) AS newest
FROM ${table} WHERE resource = UNHEX(?) FOR UPDATE`

const erase = (table: string): string => `DELETE FROM ${table} WHERE resource = UNHEX(?)`

async function check(given: MysqlTransaction, table: string, resource: string, proof: Proof): Promise<void> {
  const tx = connectionOf(given)
  const key = hex(resource)
  const token = String(proof.token)
  const write = (): Promise<unknown> => tx.query(remember(table), [key, token, proof.place])
  await insideTransaction(tx, 'holdfast_fence', write, OUTSIDE)
  const [row] = rowsOf(await tx.query(judge(table), [token, proof.place, key]))
  if (row === undefined)
    throw new UsageError(`${JSON.stringify(resource)} was forgotten inside the transaction that checks it`)
  const [passed, newest] = Object.values(row as object) as [number | bigint | string, string]
  if (Number(passed) !== 1) throw staleToken(resource, proof, BigInt(newest))
}

const OUTSIDE = 'a guard needs a connection inside a transaction, so that its check commits together with your write'

async function forget(tx: MysqlTransaction, table: string, resource: string): Promise<void> {
  await connectionOf(tx).query(erase(table), [hex(resource)])
}

async function setUp(tx: MysqlTransaction, table: string): Promise<void> {
  await promised(tx).query(create(table), [])
}
