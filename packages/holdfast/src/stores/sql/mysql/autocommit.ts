/**
 * Whether what a connection writes is committed. With `autocommit = 0`, or a transaction left open by somebody else, an
 * enter or leave of ours would stay in that transaction: A believes that it holds, B does not see it, and both act.
 */
import { UsageError } from '../../../contract/errors.ts'
import { AS_SENT, type MysqlConnection } from './clients.ts'

const IN_TRANSACTION = 1
const AUTOCOMMIT = 2

const WHAT_TO_DO =
  'what Holdfast writes would not be committed. Set autocommit = 1 on each connection of the pool, end ' +
  'transactions before you release one, ' +
  'or give Holdfast a URL or a pool of its own'

/** The server's flags, which come with every OK; null where the answer was rows. */
function flagsOf(result: unknown): number | null {
  const last = Array.isArray(result) ? (result.at(-1) as unknown) : result
  const flags = (last as { readonly serverStatus?: unknown } | null | undefined)?.serverStatus
  return typeof flags === 'number' ? flags : null
}

/** Before a connection of the user's is used for the first time. */
export async function checkAutocommit(connection: MysqlConnection): Promise<void> {
  const [result] = await connection.query({ ...AS_SENT, sql: 'DO 0' })
  const flags = flagsOf(result) ?? AUTOCOMMIT
  // The variable, too: MySQL's flag says "commits" on every new connection, even when the server is set to autocommit =
  // 0.
  const [rows] = await connection.query({ ...AS_SENT, sql: 'SELECT @@autocommit' })
  const isOff = Number((rows as readonly (readonly unknown[])[])[0]?.[0]) === 0
  if (isOff || (flags & AUTOCOMMIT) === 0)
    throw new UsageError(`mysql: a connection of the pool has autocommit = 0: ${WHAT_TO_DO}`)
  if ((flags & IN_TRANSACTION) !== 0) {
    throw new UsageError(`mysql: a connection of the pool was released inside a transaction: ${WHAT_TO_DO}`)
  }
}

/** After each statement: a connection that was in order may have been set otherwise since. */
export function checkCommitted(result: unknown): void {
  if (((flagsOf(result) ?? 0) & IN_TRANSACTION) === 0) return
  throw new UsageError(`mysql: a connection of the pool is inside a transaction: ${WHAT_TO_DO}`)
}

/**
 * What a connection of our own is told first; `long`: statements on it may wait for long, which no limit of the
 * server's must cut short. The comments are read by MariaDB only, and by MySQL only: each has a name of its own for
 * that limit.
 */
export function ownSettings(long: boolean): string {
  const limits = long ? '/*M!100101 max_statement_time = 0, */ /*!50708 max_execution_time = 0, */ ' : ''
  return `SET SESSION ${limits}autocommit = 1`
}
