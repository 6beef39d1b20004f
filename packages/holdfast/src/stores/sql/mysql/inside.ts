/** What must be done inside the caller's transaction, on MySQL and MariaDB; outside of one it is refused. */
import { UsageError } from '../../../contract/errors.ts'
import { seen } from '../../shared/seen.ts'
import { hasMethods } from '../../shared/shape.ts'
import { errnoOf } from './errors.ts'
import type { MysqlTransaction } from './transaction.ts'

const NO_SUCH_SAVEPOINT = 1305
const NOT_PREPARED = 1295
const IN_TRANSACTION = 1568

/** A pool would send each statement on another connection. */
export function connectionOf(given: unknown): MysqlTransaction {
  if (!hasMethods(given, 'query') || hasMethods(given, 'getConnection')) {
    throw new UsageError(`a connection inside a transaction is needed, given ${seen(given)}`)
  }
  return promised(given as MysqlTransaction)
}

/** A client of `mysql2` with callbacks has one with promises. */
export function promised(given: MysqlTransaction & { promise?(): MysqlTransaction }): MysqlTransaction {
  return typeof given.promise === 'function' ? given.promise() : given
}

/**
 * Does the work and refuses it afterwards if there is no transaction: `missing` says what that would have meant. A
 * savepoint outlives its statement only inside a transaction; both servers can be asked this way, and need no right for
 * it. MySQL takes no savepoint from a client that prepares what it sends, as Prisma's does; but inside a transaction it
 * refuses to change what kind of one that is. Outside this says of the next transaction what is so by default.
 */
export async function insideTransaction(
  tx: MysqlTransaction,
  savepoint: string,
  work: () => Promise<unknown>,
  missing: string,
): Promise<void> {
  const isMarked = await succeeds(tx, `SAVEPOINT ${savepoint}`, NOT_PREPARED)
  await work()
  const isInside = isMarked
    ? await succeeds(tx, `RELEASE SAVEPOINT ${savepoint}`, NO_SUCH_SAVEPOINT)
    : !(await succeeds(tx, 'SET TRANSACTION READ WRITE', IN_TRANSACTION))
  if (!isInside) throw new UsageError(missing)
}

async function succeeds(tx: MysqlTransaction, sql: string, unless: number): Promise<boolean> {
  try {
    await tx.query(sql, [])
    return true
  } catch (error) {
    if (errnoOf(error) === unless) return false
    throw error
  }
}

/** Of `mysql2` the first of two things, of `mariadb` the rows themselves. */
export function rowsOf(result: readonly unknown[]): readonly unknown[] {
  const [first] = result
  return Array.isArray(first) ? first : result
}
