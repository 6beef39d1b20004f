/** `holdfast/migration`: of several replicas one runs the migrations, while the others wait. */
import { checkFunction, checkKeys, checkName, checkSpan } from '../contract/check.ts'
import { UsageError } from '../contract/errors.ts'
import type { SessionLocks } from '../stores/sql/session-locks.ts'

/** Options of `withMigrationLock`. */
export interface MigrationLockOptions {
  /** Names the migrations: those with the same name run one after the other. Default 'migrate'; 1 to 512 bytes. */
  readonly name?: string
  /** How long to wait while another process migrates; then AcquireTimeoutError. Default Infinity; 0 tries once. */
  readonly waitMs?: number
}

/**
 * Runs `work` while no other process runs work of the same name on this server. The lock belongs to a session of the
 * server, so it needs no table, and it ends with the process. Every replica runs its work, one after the other: a
 * migration tool finds out by itself that nothing is left to do.
 * @param url `postgres://…` or `mysql://…`, of the server itself: a transaction pooler is refused.
 */
export async function withMigrationLock<T>(
  url: string | URL,
  work: (signal: AbortSignal) => T | PromiseLike<T>,
  options?: MigrationLockOptions,
): Promise<T> {
  const given = checkKeys('migration options', options, ['name', 'waitMs'])
  const name = checkName('name', given.name ?? 'migrate')
  const waitMs = given.waitMs === undefined ? Number.POSITIVE_INFINITY : checkSpan('waitMs', given.waitMs)
  checkFunction('the work given to withMigrationLock', work)
  const locks = await open(String(url))
  try {
    const held = await locks.acquire(name, { waitMs })
    try {
      return await work(held.signal)
    } finally {
      await held.release()
    }
  } finally {
    await locks.close()
  }
}

async function open(url: string): Promise<SessionLocks> {
  if (/^postgres(ql)?:/.test(url)) return (await import('../stores/sql/postgres/session-locks.ts')).sessionLocks(url)
  if (/^(mysql|mariadb):/.test(url)) return (await import('../stores/sql/mysql/session-locks.ts')).sessionLocks(url)
  throw new UsageError('withMigrationLock takes a URL that begins with postgres: or mysql:')
}
