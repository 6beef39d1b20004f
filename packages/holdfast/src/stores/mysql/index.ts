/** `holdfast/mysql`: locks in a MySQL 8 or MariaDB 10.6 database, through `mysql2`. */
import { checkBoolean, checkKeys, checkWhole } from '../../contract/check.ts'
import { UsageError } from '../../contract/errors.ts'
import type { Driver } from '../../contract/driver.ts'
import { checkOneHost } from '../sql/one-host.ts'
import { checkPoll, type PollMs } from '../sql/options.ts'
import type { MysqlPool } from '../sql/mysql/clients.ts'
import { seen } from '../shared/seen.ts'
import { SqlDriver } from '../sql/driver.ts'
import { mysqlDialect } from '../sql/mysql/dialect.ts'
import { makeNames } from '../sql/mysql/names.ts'
import { isMysqlPool, MYSQL_CLIENTS } from './given.ts'
import { migration } from '../sql/mysql/schema.ts'
import { givenMysql, openMysql } from '../sql/mysql/session.ts'

export type { MysqlPool } from '../sql/mysql/clients.ts'
export type { PollMs } from '../sql/options.ts'
export type {
  SessionAcquireOptions,
  SessionHeld,
  SessionLocks,
  SessionLocksOptions,
} from '../sql/session-locks.ts'
export { sessionLocks } from '../sql/mysql/session-locks.ts'
export type {
  DrizzleTransaction,
  KnexTransaction,
  KyselyTransaction,
  OrmTransaction,
  PrismaTransaction,
  SequelizeTransaction,
  TypeormTransaction,
} from '../sql/orm.ts'
export { lockInTransaction, type MysqlTransaction } from '../sql/mysql/transaction.ts'

/** Where MySQL or MariaDB is, and which tables. */
export interface MysqlOptions {
  /** Begins the names of tables and procedures. Default 'holdfast'; 1 to 30 letters, digits and underscores. */
  readonly prefix?: string
  /** How long an answer may take before the store counts as unreachable. Default 5 000; 1 to 600 000. */
  readonly timeoutMs?: number
  /** Connections of our own pool, if a URL is given. Default 10; 1 to 1 000. */
  readonly connections?: number
  /** The shortest and longest pause between polls of a process that waits. Default 25 and 500; 5 to 60 000. */
  readonly pollMs?: PollMs
  /**
   * Waiters are rung for by a lock of the server (GET_LOCK), on connections of their own, up to four; false: they are
   * only polled for. Default true for a URL; a pool of yours is polled for always.
   */
  readonly doorbell?: boolean
}

const KEYS = ['prefix', 'timeoutMs', 'connections', 'pollMs', 'doorbell']

/** A store in MySQL or MariaDB, given by URL or by your `mysql2` pool. */
export function mysql(store: string | URL | MysqlPool, options: MysqlOptions = {}): Driver {
  checkKeys('mysql options', options, KEYS)
  const { prefix = 'holdfast', timeoutMs = 5_000, connections = 10 } = options
  const names = makeNames(prefix)
  checkWhole('timeoutMs', timeoutMs, 1, 600_000)
  checkWhole('connections', connections, 1, 1_000)
  if (options.doorbell !== undefined) checkBoolean('doorbell', options.doorbell)
  const parts = { names, timeoutMs, poll: checkPoll(options.pollMs), doorbell: options.doorbell ?? true }
  if (typeof store === 'string' || store instanceof URL) {
    checkOneHost('MySQL', String(store))
    return new SqlDriver(mysqlDialect({ ...parts, session: openMysql(String(store), { timeoutMs, connections }) }))
  }
  if (!isMysqlPool(store)) {
    throw new UsageError(`a MySQL store must be a URL, or ${MYSQL_CLIENTS}, given ${seen(store)}`)
  }
  return new SqlDriver(mysqlDialect({ ...parts, session: givenMysql(store, timeoutMs) }))
}

/** The SQL that `setup()` runs, for those who run their own migrations. */
export function mysqlMigration(options: Pick<MysqlOptions, 'prefix'> = {}): string {
  checkKeys('migration options', options, ['prefix'])
  return migration(makeNames(options.prefix ?? 'holdfast'))
}

/** For the conformance suite and others that configure by JSON: the URL among the options. */
export function fromConfig({ url, ...options }: MysqlOptions & { readonly url: string }): Driver {
  return mysql(url, options)
}

export default fromConfig
