/** A lock inside the caller's own transaction: a row that is held until it ends, so lock and data commit together. */
import { hash } from 'node:crypto'
import { checkKeys, checkName } from '../../../contract/check.ts'
import { AcquireTimeoutError, DeadlockError, StoreError, UsageError } from '../../../contract/errors.ts'
import { errnoOf, isSchemaMissing, toStoreError } from './errors.ts'
import { makeNames } from './names.ts'
import { SCHEMA_VERSION } from './schema.ts'

/** A connection of `mysql2/promise` in a transaction. */
export interface MysqlTransaction {
  query(sql: string, values: (string | Buffer)[]): Promise<readonly unknown[]>
}

/**
 * Waits for the line and holds it until the caller's transaction commits or rolls back; the strongest form there is
 * when what it protects is in the same database. It locks a row of its own table, made by `setup()`. These holds and
 * those of `hf.mutex` do not see each other. Outside a transaction it is refused, since the lock would be gone at once;
 * and so it is in one that reads from before somebody's hold.
 */
export async function lockInTransaction(
  tx: MysqlTransaction,
  name: string,
  options: { readonly prefix?: string } = {},
): Promise<void> {
  checkName('name', name)
  checkKeys('lockInTransaction options', options, ['prefix'])
  const { prefix, render } = makeNames(options.prefix ?? 'holdfast')
  try {
    // A savepoint outlives its statement only inside a transaction; both servers can be asked this way, and need no
    // right for it.
    await tx.query('SAVEPOINT holdfast_tx', [])
    await tx.query(render(`CALL @lock_v${SCHEMA_VERSION}(?)`), [String(slotOf(name))])
  } catch (error) {
    throw toLockError(error, name, prefix)
  }
  try {
    await tx.query('RELEASE SAVEPOINT holdfast_tx', [])
  } catch (error) {
    if (errnoOf(error) !== 1305) throw toStoreError(error)
    throw new UsageError('lockInTransaction needs a connection inside a transaction, or the lock is gone at once')
  }
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
