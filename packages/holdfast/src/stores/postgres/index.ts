/** `holdfast/postgres`: locks in a PostgreSQL database, through `pg` or `postgres`. */
import { checkKeys, checkOneOf, checkText, checkWhole } from '../../contract/check.ts'
import { UsageError } from '../../contract/errors.ts'
import type { Driver } from '../../contract/driver.ts'
import { checkOneHost } from '../sql/one-host.ts'
import { checkPoll, type PollMs } from '../sql/options.ts'
import type { PgPool, PostgresSql } from '../sql/postgres/clients.ts'
import { seen } from '../shared/seen.ts'
import { SqlDriver } from '../sql/driver.ts'
import { postgresDialect } from '../sql/postgres/dialect.ts'
import { makeNames } from '../sql/postgres/names.ts'
import { givenPg, openPg } from '../sql/postgres/pg-session.ts'
import { givenPostgresJs, openPostgresJs } from '../sql/postgres/postgres-js-session.ts'
import { POSTGRES_CLIENTS, postgresClientKind } from './given.ts'
import { migration } from '../sql/postgres/schema.ts'
import type { PostgresSession } from '../sql/postgres/session.ts'

export type { PgPool, PostgresSql } from '../sql/postgres/clients.ts'
export type { PollMs } from '../sql/options.ts'
export type {
  SessionAcquireOptions,
  SessionHeld,
  SessionLocks,
  SessionLocksOptions,
} from '../sql/session-locks.ts'
export { sessionLocks } from '../sql/postgres/session-locks.ts'
export type {
  DrizzleTransaction,
  KnexTransaction,
  KyselyTransaction,
  OrmTransaction,
  PrismaTransaction,
  SequelizeTransaction,
  TypeormTransaction,
} from '../sql/orm.ts'
export { lockInTransaction, type PgTransaction, type PostgresTransaction } from '../sql/postgres/transaction.ts'

/** Where PostgreSQL is, and which tables. */
export interface PostgresOptions {
  /** Begins the names of tables and functions. Default 'holdfast'; 1 to 30 letters, digits and underscores. */
  readonly prefix?: string
  /** The schema they are in. Default 'public'; 1 to 30 letters, digits and underscores. */
  readonly schema?: string
  /**
   * A URL that reaches the server without a transaction pooler, for the one connection that listens; false: poll
   * instead. Default: the URL given; for a `pg` pool false; for a `postgres` object its own `listen`.
   */
  readonly listenUrl?: string | false
  /** The package that a URL is opened with. Default 'pg'; 'postgres' is faster at hundreds of concurrent calls. */
  readonly client?: 'pg' | 'postgres'
  /** How long an answer may take before the store counts as unreachable. Default 5 000; 1 to 600 000. */
  readonly timeoutMs?: number
  /** Connections of our own pool, if a URL is given. Default 10; 1 to 1 000. */
  readonly connections?: number
  /** The shortest and longest pause between polls, where polling is needed. Default 25 and 500; 5 to 60 000. */
  readonly pollMs?: PollMs
}

const KEYS = ['client', 'prefix', 'schema', 'listenUrl', 'timeoutMs', 'connections', 'pollMs']

/** A store in PostgreSQL 12 or later, given by URL, by your `pg` Pool or by your `postgres` sql object. */
export function postgres(store: string | URL | PgPool | PostgresSql, options: PostgresOptions = {}): Driver {
  checkKeys('postgres options', options, KEYS)
  const { prefix = 'holdfast', schema = 'public', timeoutMs = 5_000, connections = 10, listenUrl } = options
  const names = makeNames(schema, prefix)
  checkWhole('timeoutMs', timeoutMs, 1, 600_000)
  checkWhole('connections', connections, 1, 1_000)
  if (listenUrl !== undefined && listenUrl !== false) checkText('listenUrl', listenUrl, 4_096)
  const kind = typeof store === 'string' || store instanceof URL ? 'url' : postgresClientKind(store)
  const isPostgresJs = kind === 'postgres' || options.client === 'postgres'
  if (isPostgresJs && typeof listenUrl === 'string') {
    throw new UsageError('listenUrl as a URL needs the package pg; a postgres object listens by itself, or not: false')
  }
  const poll = checkPoll(options.pollMs)
  const settings = { timeoutMs, connections }
  let session: PostgresSession
  let hears: boolean
  if (kind === 'url') {
    const url = String(store as string | URL)
    checkOneHost('PostgreSQL', url)
    const own = listenUrl === undefined ? url : listenUrl
    hears = own !== false
    const client = checkOneOf('client', options.client ?? 'pg', ['pg', 'postgres'])
    if (client === 'pg') session = openPg(url, { ...settings, listenUrl: own === false ? null : own })
    else session = openPostgresJs(url, { ...settings, hears })
  } else if (kind === 'postgres') {
    hears = listenUrl !== false
    session = givenPostgresJs(store as PostgresSql, { ...settings, hears })
  } else if (kind === 'pg') {
    const own = listenUrl === undefined || listenUrl === false ? null : listenUrl
    hears = own !== null
    session = givenPg(store as PgPool, { ...settings, listenUrl: own })
  } else {
    throw new UsageError(`a PostgreSQL store must be a URL, ${POSTGRES_CLIENTS}, given ${seen(store)}`)
  }
  return new SqlDriver(postgresDialect({ session, names, timeoutMs, hears, poll }))
}

/** The SQL that `setup()` runs, for those who run their own migrations. */
export function postgresMigration(options: Pick<PostgresOptions, 'prefix' | 'schema'> = {}): string {
  checkKeys('migration options', options, ['prefix', 'schema'])
  return migration(makeNames(options.schema ?? 'public', options.prefix ?? 'holdfast'))
}

/** For the conformance suite and others that configure by JSON: the URL among the options. */
export function fromConfig({ url, ...options }: PostgresOptions & { readonly url: string }): Driver {
  return postgres(url, options)
}

export default fromConfig
