/** The guard on PostgreSQL. */
import { UsageError } from '../../contract/errors.ts'
import { hex } from '../../stores/sql/hex.ts'
import type { PgTransaction, PostgresTransaction } from '../../stores/sql/postgres/transaction.ts'
import { type Proof, staleToken } from '../proof.ts'
import type { Part } from './part.ts'

type Transaction = PgTransaction | PostgresTransaction

export const postgres: Part<Transaction> = { create, check, forget, setUp }

function create(table: string): string {
  return `CREATE TABLE IF NOT EXISTS ${table} (resource bytea PRIMARY KEY, token bigint NOT NULL, place text NOT NULL)`
}

/**
 * One statement compares and remembers. It locks the row whatever it finds. After waiting for another transaction it
 * compares with what that transaction committed: two checks of one resource never pass each other. At REPEATABLE READ
 * and above the wait ends with a serialization failure instead.
 */
const remember = (
  table: string,
): string => `INSERT INTO ${table} AS old (resource, token, place) VALUES (decode($1, 'hex'), $2::bigint, $3)
ON CONFLICT (resource) DO UPDATE SET token = excluded.token, place = excluded.place
WHERE old.token < excluded.token OR old.token = excluded.token AND old.place = excluded.place
RETURNING 1 AS passed`

const newest = (table: string): string => `SELECT token::text AS token FROM ${table} WHERE resource = decode($1, 'hex')`

const erase = (table: string): string => `DELETE FROM ${table} WHERE resource = decode($1, 'hex')`

async function check(tx: Transaction, table: string, resource: string, proof: Proof): Promise<void> {
  await assertTransaction(tx)
  const key = hex(resource)
  const passed = await ask(tx, remember(table), [key, String(proof.token), proof.place])
  if (passed.length > 0) return
  const [row] = await ask(tx, newest(table), [key])
  throw staleToken(resource, proof, BigInt((row as { readonly token: string }).token))
}

async function forget(tx: Transaction, table: string, resource: string): Promise<void> {
  await ask(tx, erase(table), [hex(resource)])
}

/**
 * Two processes create the table at the same moment, and IF NOT EXISTS has seen no table in either. One of them fails
 * on what the other has committed meanwhile: the type, the relation itself, or the entry in a catalogue.
 */
const TRIPPED = new Set(['42710', '42P07', '23505'])

async function setUp(tx: Transaction, table: string): Promise<void> {
  try {
    await ask(tx, create(table), [])
  } catch (error) {
    if (!TRIPPED.has(String((error as { readonly code?: unknown }).code))) throw error
    await ask(tx, create(table), [])
  }
}

/**
 * Only inside a transaction can a savepoint be made. It is released before anything is written, so it costs no
 * subtransaction.
 */
async function assertTransaction(tx: Transaction): Promise<void> {
  try {
    await ask(tx, 'SAVEPOINT holdfast_fence; RELEASE SAVEPOINT holdfast_fence', [])
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== '25P01') throw error
    throw new UsageError(
      'a guard needs a client inside a transaction (BEGIN), so that its check commits together with your write',
    )
  }
}

async function ask(tx: Transaction, text: string, values: string[]): Promise<readonly unknown[]> {
  return 'unsafe' in tx ? tx.unsafe(text, values as never[]) : (await tx.query(text, values)).rows
}
