/** A lock inside the caller's own transaction: it is let go when that ends, so lock and data commit together. */
import { hash } from 'node:crypto'
import { checkName } from '../../core/check.ts'
import { UsageError } from '../../core/errors.ts'

/** A client of `pg` in a transaction (anything with its `query`). */
export interface PgTransaction {
  query(text: string, values: unknown[]): Promise<{ readonly rows: readonly unknown[] }>
}

/** What `sql.begin` of `postgres` gives. */
export interface PostgresTransaction {
  unsafe(text: string, values: never[]): PromiseLike<readonly unknown[]>
}

/**
 * Waits for the line and holds it until the caller's transaction commits or rolls back; the strongest form there is when what
 * it protects is in the same database. These holds and those of `hf.mutex` do not see each other.
 * Outside a transaction it is refused, since the lock would be gone at once.
 */
export async function lockInTransaction(tx: PgTransaction | PostgresTransaction, name: string): Promise<void> {
  checkName('name', name)
  const values = [String(lockKey(name))]
  await ask(tx, 'SELECT pg_advisory_xact_lock($1::bigint)', values)
  // Still there in a next statement: then there is a transaction around both.
  const held = await ask(
    tx,
    `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted AND objsubid = 1
      AND classid = ($1::bigint >> 32 & 4294967295)::oid AND objid = ($1::bigint & 4294967295)::oid`,
    values,
  )
  if (held.length === 0) {
    throw new UsageError('lockInTransaction needs a client inside a transaction (BEGIN), or the lock is gone at once')
  }
}

async function ask(
  tx: PgTransaction | PostgresTransaction,
  text: string,
  values: string[],
): Promise<readonly unknown[]> {
  return 'unsafe' in tx ? tx.unsafe(text, values as never[]) : (await tx.query(text, values)).rows
}

/** All 64 bits of a key come from the name, and none collide by being short. */
export function lockKey(name: string): bigint {
  return hash('sha256', `holdfast\0${name}`, 'buffer').readBigInt64BE()
}
