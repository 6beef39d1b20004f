/** A lock inside the caller's own transaction: a row that is held until it ends, so lock and data commit together. */
import { hash } from 'node:crypto'
import { checkKeys, checkName } from '../../../contract/check.ts'
import { AcquireTimeoutError, DeadlockError, StoreError, UsageError } from '../../../contract/errors.ts'
import { type OrmTransaction, ormTransaction } from '../orm.ts'
import { errnoOf, isSchemaMissing, toStoreError } from './errors.ts'
import { connectionOf, insideTransaction } from './inside.ts'
import { makeNames } from './names.ts'
import { SCHEMA_VERSION } from './schema.ts'

/** A connection of `mysql2`, `mysql2/promise` or `mariadb` in a transaction. */
export interface MysqlTransaction {
  query(sql: string, values: string[]): Promise<readonly unknown[]>
}

/**
 * Waits for the line and holds it until the caller's transaction commits or rolls back; the strongest form there is
 * when what it protects is in the same database. It locks a row of its own table, made by `setup()`. These holds and
 * those of `hf.mutex` do not see each other. Takes a connection of `mysql2` or `mariadb`, or the transaction of Prisma,
 * Drizzle, Kysely, Knex, TypeORM or Sequelize. Outside a transaction it is refused, since the lock would be gone at
 * once; and so it is in one that reads from before somebody's hold.
 */
export async function lockInTransaction(
  given: MysqlTransaction | OrmTransaction,
  name: string,
  options: { readonly prefix?: string } = {},
): Promise<void> {
  checkName('name', name)
  checkKeys('lockInTransaction options', options, ['prefix'])
  const { prefix, render } = makeNames(options.prefix ?? 'holdfast')
  const tx = transactionOf(given)
  const lock = (): Promise<unknown> => tx.query(render(`CALL @lock_v${SCHEMA_VERSION}(?)`), [String(slotOf(name))])
  try {
    await insideTransaction(tx, 'holdfast_tx', lock, OUTSIDE)
  } catch (error) {
    throw toLockError(error, name, prefix)
  }
}

const OUTSIDE = 'lockInTransaction needs a connection inside a transaction, or the lock is gone at once'

function transactionOf(given: unknown): MysqlTransaction {
  const mapped = ormTransaction(given)
  if (mapped?.dialect === 'postgres') {
    throw new UsageError('this transaction is one of PostgreSQL: import lockInTransaction from holdfast/postgres')
  }
  return connectionOf(mapped?.tx ?? given)
}

/** One of the 65 536 rows: names that share one wait for each other. */
function slotOf(name: string): number {
  return hash('sha256', `holdfast\0${name}`, 'buffer').readUInt16BE()
}

function toLockError(error: unknown, name: string, prefix: string): Error {
  const detail = { line: name, cause: error }
  const { sqlState } = error as { readonly sqlState?: unknown }
  const errno = errnoOf(error)
  // 1020: MariaDB 11.6 and later sees by itself that the row has changed since the snapshot.
  if (sqlState === 'HF003' || errno === 1020) {
    return new UsageError(
      `${name} was held by another since this transaction began to read, and at REPEATABLE READ it would not ` +
        `see what that one has written. ` +
        'Call lockInTransaction before the first SELECT of the transaction, or SET TRANSACTION ISOLATION LEVEL ' +
        'READ COMMITTED before you begin it',
      detail,
    )
  }
  if (sqlState === 'HF004' || isSchemaMissing(error)) {
    return new StoreError(
      `mysql: the tables "${prefix}_…" are missing, or are not of version ${SCHEMA_VERSION}; run \`holdfast ` +
        `migrate --store URL\` or await hf.setup()`,
      detail,
    )
  }
  if (errno === 1213) {
    const message =
      `${name}: this transaction and another wait for each other, and the server has rolled this one back; run it ` +
      `again`
    return new DeadlockError(message, detail)
  }
  if (errno === 1205 || errno === 1969) {
    const message =
      `could not get lock ${name} within the innodb_lock_wait_timeout or max_statement_time of this session; ` +
      'roll back'
    return new AcquireTimeoutError(message, detail)
  }
  return toStoreError(error)
}
