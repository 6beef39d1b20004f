/** A lock inside the caller's own transaction: a row that is held until it ends, so lock and data commit together. */
import { checkKeys, checkName } from '../../core/check.ts'
import { UsageError } from '../../core/errors.ts'
import { makeNames } from './names.ts'

/** A connection of `mysql2/promise` in a transaction. */
export interface MysqlTransaction {
  query(sql: string, values: (string | Buffer)[]): Promise<readonly unknown[]>
}

/**
 * Waits for the line and holds it until the caller's transaction commits or rolls back; the strongest form there is when what
 * it protects is in the same database. It locks a row of its own table, made by `setup()`. These holds and those of `hf.mutex` do not see each other.
 * Outside a transaction it is refused, since the lock would be gone at once.
 */
export async function lockInTransaction(
  tx: MysqlTransaction,
  name: string,
  options: { readonly prefix?: string } = {},
): Promise<void> {
  checkName('name', name)
  checkKeys('lockInTransaction options', options, ['prefix'])
  const { render } = makeNames(options.prefix ?? 'holdfast')
  // A savepoint outlives its statement only inside a transaction; both servers can be asked this way, and need no right for it.
  await tx.query('SAVEPOINT holdfast_tx', [])
  // Inserts the row or locks the one that is there, in either case exclusively and until the end of the transaction.
  await tx.query(render('INSERT INTO @tx (name) VALUES (?) ON DUPLICATE KEY UPDATE name = VALUES(name)'), [
    Buffer.from(name),
  ])
  try {
    await tx.query('RELEASE SAVEPOINT holdfast_tx', [])
  } catch (error) {
    if ((error as { readonly errno?: unknown }).errno !== 1305) throw error
    throw new UsageError('lockInTransaction needs a connection inside a transaction, or the lock is gone at once')
  }
}
