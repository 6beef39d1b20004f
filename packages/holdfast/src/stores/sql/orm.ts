/**
 * Transactions of object mappers and query builders, seen by the members that are called: no package's types are
 * needed. Each runs a text on the connection of the transaction, and gives rows; what fails is the driver's own error.
 * Texts are of the dialect: values are $1, $2 … on PostgreSQL and ? on MySQL.
 */
import { UsageError } from '../../contract/errors.ts'
import type { MysqlTransaction } from './mysql/transaction.ts'
import { driverError } from './orm-errors.ts'
import type { PgTransaction, PostgresTransaction } from './postgres/transaction.ts'

/** The `tx` of Prisma's interactive transactions. */
export interface PrismaTransaction {
  $queryRawUnsafe(text: string, ...values: never[]): PromiseLike<unknown>
  $executeRawUnsafe(text: string, ...values: never[]): PromiseLike<number>
}

/** The `tx` of Drizzle over `pg`, `postgres` or `mysql2`. */
export interface DrizzleTransaction {
  execute(query: never): unknown
  transaction(work: never, config?: never): unknown
}

/** The `trx` of Kysely. */
export interface KyselyTransaction {
  readonly isTransaction: boolean
  executeQuery(query: never): Promise<{ readonly rows: readonly unknown[] }>
}

/** The `trx` of Knex. */
export interface KnexTransaction {
  raw(text: string, values: never): PromiseLike<unknown>
}

/** The EntityManager of a TypeORM transaction. */
export interface TypeormTransaction {
  readonly connection: { readonly options: { readonly type: string } }
  query(text: string, values?: unknown[]): Promise<unknown>
}

/** The transaction of Sequelize. */
export interface SequelizeTransaction {
  commit(): PromiseLike<unknown>
  rollback(): PromiseLike<unknown>
}

/** A transaction of an ORM or a query builder. */
export type OrmTransaction =
  | PrismaTransaction
  | DrizzleTransaction
  | KyselyTransaction
  | KnexTransaction
  | TypeormTransaction
  | SequelizeTransaction

/** What the guards and locks take, and what they speak to it. */
export type MappedTransaction =
  | { readonly dialect: 'postgres'; readonly tx: PgTransaction | PostgresTransaction }
  | { readonly dialect: 'mysql'; readonly tx: MysqlTransaction }

type Dialect = MappedTransaction['dialect']
type Run = (text: string, values: readonly string[]) => PromiseLike<unknown>
type Members = Record<string, unknown>
interface Mapper {
  readonly dialect: Dialect
  readonly run: Run
}

/** Null: it is no transaction of a mapper. */
export function ormTransaction(tx: unknown): MappedTransaction | null {
  if ((typeof tx !== 'object' && typeof tx !== 'function') || tx === null) return null
  const members = tx as Members
  const client = drizzle(members)
  if (client !== null) return client
  const mapper = prisma(members) ?? kysely(members) ?? sequelize(members) ?? typeorm(members) ?? knex(members)
  if (mapper === null) return null
  const run: Run = async (text, values) => {
    try {
      return await mapper.run(text, values)
    } catch (error) {
      throw driverError(error)
    }
  }
  if (mapper.dialect === 'mysql') {
    return { dialect: 'mysql', tx: { query: async (text, values) => [await run(text, values as string[])] } }
  }
  return { dialect: 'postgres', tx: { query: (text, values) => runEach(run, text, values as string[]) } }
}

/** Two statements in one text are refused where a mapper prepares what it sends. */
async function runEach(run: Run, text: string, values: readonly string[]): Promise<{ rows: readonly unknown[] }> {
  let rows: unknown = []
  for (const one of values.length === 0 ? text.split('; ') : [text]) rows = await run(one, values)
  return { rows: rows as readonly unknown[] }
}

/** `$queryRawUnsafe` wants rows of what it sends, and on MySQL only a SELECT has some. */
function prisma(tx: Members): Mapper | null {
  if (typeof tx.$queryRawUnsafe !== 'function') return null
  const { _activeProvider: provider } = tx
  const dialect = dialectOf('Prisma', typeof provider === 'string' ? provider : 'postgresql')
  const given = tx as unknown as PrismaTransaction
  const run: Run = (text, values) =>
    dialect === 'postgres' || text.startsWith('SELECT')
      ? given.$queryRawUnsafe(text, ...(values as never[]))
      : given.$executeRawUnsafe(text, ...(values as never[]))
  return { dialect, run }
}

/** Drizzle keeps the connection of the transaction in its session: a client of `pg`, `postgres` or `mysql2`. */
function drizzle(tx: Members): MappedTransaction | null {
  if (typeof tx.transaction !== 'function' || typeof tx.session !== 'object' || tx.session === null) return null
  const { client } = tx.session as { readonly client?: Members }
  if (client === undefined || client === null) return null
  if ('unsafe' in client || !('execute' in client || 'prepare' in client)) {
    return { dialect: 'postgres', tx: client as unknown as PgTransaction }
  }
  const isMysql2 = typeof client.query === 'function' && typeof client.execute === 'function'
  return { dialect: dialectOf('Drizzle', isMysql2 ? 'mysql' : 'this client') as 'mysql', tx: client as never }
}

function kysely(tx: Members): Mapper | null {
  if (typeof tx.executeQuery !== 'function' || typeof tx.getExecutor !== 'function') return null
  if (tx.isTransaction !== true) throw new UsageError('Kysely: give the trx of db.transaction().execute(…), not the db')
  const { adapter } = (tx.getExecutor as () => { readonly adapter?: Members }).call(tx)
  const run: Run = async (text, values) => {
    const query = { kind: 'RawNode', sqlFragments: [text], parameters: [] }
    const compiled = { sql: text, parameters: values, query, queryId: { queryId: 'holdfast' } }
    return (await (tx as unknown as KyselyTransaction).executeQuery(compiled as never)).rows
  }
  return { dialect: dialectOf('Kysely', kyselyDialect(adapter ?? {})), run }
}

/** Kysely has no name for its dialect. What it knows of each server tells them apart, also in dialects of others. */
function kyselyDialect({ supportsReturning, supportsTransactionalDdl }: Members): string {
  if (supportsTransactionalDdl === true && supportsReturning === true) return 'postgres'
  return supportsTransactionalDdl === false && supportsReturning === false ? 'mysql' : 'this dialect'
}

/** Values go into the text by Sequelize's own quoting: what it binds it prepares, and a savepoint can't be prepared. */
function sequelize(tx: Members): Mapper | null {
  if (typeof tx.getDialect === 'function') {
    throw new UsageError('Sequelize: give the transaction of sequelize.transaction(…), not sequelize itself')
  }
  const { sequelize: db } = tx as { readonly sequelize?: Members }
  if (typeof db?.query !== 'function' || typeof tx.commit !== 'function') return null
  const dialect = dialectOf('Sequelize', (db as { getDialect(): string }).getDialect())
  const query = db.query.bind(db) as (text: string, options: object) => Promise<unknown>
  const run: Run = async (text, values) => {
    const named = dialect === 'postgres' ? { bind: values } : values.length === 0 ? {} : { replacements: values }
    const answer = await query(text, { ...named, transaction: tx, raw: true })
    // Nothing at all for a CALL.
    return Array.isArray(answer) ? answer[0] : []
  }
  return { dialect, run }
}

function typeorm(tx: Members): Mapper | null {
  const { connection, queryRunner } = tx as { readonly connection?: Members; readonly queryRunner?: unknown }
  const { type } = (connection?.options ?? {}) as { readonly type?: unknown }
  if (typeof type !== 'string' || typeof tx.query !== 'function') return null
  const dialect = dialectOf('TypeORM', type)
  if (queryRunner === undefined && typeof tx.startTransaction !== 'function') {
    throw new UsageError('TypeORM: give the manager of dataSource.transaction(…), not that of the data source')
  }
  return { dialect, run: (text, values) => (tx as unknown as TypeormTransaction).query(text, [...values]) }
}

/** Knex has ? where PostgreSQL has $1, and a value that is named twice is given twice. */
function knex(tx: Members): Mapper | null {
  if (typeof tx.raw !== 'function' || typeof tx.isCompleted !== 'function') return null
  const dialect = dialectOf('Knex', String((tx.client as { readonly dialect: unknown }).dialect))
  const given = tx as unknown as KnexTransaction
  if (dialect === 'mysql') {
    return { dialect, run: async (text, values) => ((await given.raw(text, values as never)) as unknown[])[0] }
  }
  const run: Run = async (text, values) => {
    const named: string[] = []
    const marked = text.replaceAll('?', String.raw`\?`).replaceAll(/\$(\d+)/g, (_, n: string) => {
      named.push(values[Number(n) - 1] as string)
      return '?'
    })
    return ((await given.raw(marked, named as never)) as { readonly rows: unknown[] }).rows
  }
  return { dialect, run }
}

function dialectOf(mapper: string, name: string): Dialect {
  if (/^(pg|postgres)/.test(name)) return 'postgres'
  if (/^(mysql|mariadb|aurora-mysql)/.test(name)) return 'mysql'
  throw new UsageError(
    `${mapper} on ${name} is not known here, on PostgreSQL, MySQL and MariaDB it is: give the connection of the ` +
      'transaction itself',
  )
}
