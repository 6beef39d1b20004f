/** A lock inside the caller's own transaction: it is let go when that ends, so lock and data commit together. */
import { hash } from 'node:crypto'
import { checkName } from '../../../contract/check.ts'
import { AcquireTimeoutError, DeadlockError, UsageError } from '../../../contract/errors.ts'
import { seen } from '../../shared/seen.ts'
import { hasMethods } from '../../shared/shape.ts'
import { type OrmTransaction, ormTransaction } from '../orm.ts'
import { isDeadlock, isWaitOver, toStoreError } from './errors.ts'

/** A client of `pg` in a transaction (anything with its `query`). */
export interface PgTransaction {
  query(text: string, values: unknown[]): Promise<{ readonly rows: readonly unknown[] }>
}

/** What `sql.begin` of `postgres` gives. */
export interface PostgresTransaction {
  unsafe(text: string, values: never[]): PromiseLike<readonly unknown[]>
}

/**
 * Waits for the line and holds it until the caller's transaction commits or rolls back; the strongest form there is
 * when what it protects is in the same database. These holds and those of `hf.mutex` do not see each other.
 * Takes a client of `pg`, the object of `sql.begin`, or the transaction of Prisma, Drizzle, Kysely, Knex, TypeORM or
 * Sequelize. Outside a transaction it is refused, since the lock would be gone at once; and so it is in one that is not
 * read committed.
 */
export async function lockInTransaction(
  given: PgTransaction | PostgresTransaction | OrmTransaction,
  name: string,
): Promise<void> {
  checkName('name', name)
  const tx = transactionOf(given)
  const values = [String(lockKey(name))]
  try {
    // Above read committed all statements of a transaction read what was committed when the first one began. That is
    // this very one, at the latest: A sells the last seat and commits, B had begun to wait before that, gets the lock,
    // and still reads "one seat left". No row: not locked.
    const locked = await ask(
      tx,
      `SELECT pg_advisory_xact_lock($1::bigint)::text
       WHERE current_setting('transaction_isolation') IN ('read committed', 'read uncommitted')`,
      values,
    )
    if (locked.length === 0) throw await snapshotError(tx)
    // Still there in a next statement: then there is a transaction around both.
    const held = await ask(
      tx,
      `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted AND objsubid = 1
        AND classid = ($1::bigint >> 32 & 4294967295)::oid AND objid = ($1::bigint & 4294967295)::oid`,
      values,
    )
    if (held.length > 0) return
  } catch (error) {
    throw toLockError(error, name)
  }
  throw new UsageError('lockInTransaction needs a client inside a transaction (BEGIN), or the lock is gone at once')
}

function transactionOf(
  given: PgTransaction | PostgresTransaction | OrmTransaction,
): PgTransaction | PostgresTransaction {
  const mapped = ormTransaction(given)
  if (mapped?.dialect === 'mysql') {
    throw new UsageError('this transaction is one of MySQL: import lockInTransaction from holdfast/mysql')
  }
  if (mapped === null && !hasMethods(given, 'query') && !hasMethods(given, 'unsafe')) {
    throw new UsageError(`a client inside a transaction (BEGIN) is needed, given ${seen(given)}`)
  }
  return mapped?.tx ?? (given as PgTransaction | PostgresTransaction)
}

async function snapshotError(tx: PgTransaction | PostgresTransaction): Promise<UsageError> {
  const [row] = await ask(tx, "SELECT current_setting('transaction_isolation') AS level", [])
  const level = String(Object.values(row as object)[0]).toUpperCase()
  return new UsageError(
    `lockInTransaction needs a transaction that is READ COMMITTED, and this one is ${level}: after the wait it ` +
      `would read what was there before. ` +
      'Begin it with BEGIN ISOLATION LEVEL READ COMMITTED, or take hf.mutex or sessionLocks before you begin it',
  )
}

/** The transaction is over after any of these: the server takes nothing but ROLLBACK. */
function toLockError(error: unknown, name: string): Error {
  if (isDeadlock(error)) {
    const message =
      `${name}: this transaction and another wait for each other, and the server ended this one; roll back and ` +
      `run it again`
    return new DeadlockError(message, { line: name, cause: error })
  }
  if (isWaitOver(error)) {
    const message = `${name} was not had within the lock_timeout or statement_timeout of this session`
    return new AcquireTimeoutError(message, { line: name, cause: error })
  }
  return toStoreError(error)
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
