/**
 * Transactions of object mappers and query builders, seen by the members that are called: no package's types are
 * needed. Each runs a text with $1, $2 … on the connection of the transaction, and gives rows; what fails is the
 * driver's own error.
 */
import { UsageError } from '../../../contract/errors.ts'
import type { PgTransaction, PostgresTransaction } from './transaction.ts'

/** The `tx` of Prisma's interactive transactions. */
export interface PrismaTransaction {
  $queryRawUnsafe(text: string, ...values: never[]): PromiseLike<unknown>
}

/** The `tx` of Drizzle over `pg` or `postgres`. */
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

export type OrmTransaction =
  | PrismaTransaction
  | DrizzleTransaction
  | KyselyTransaction
  | KnexTransaction
  | TypeormTransaction
  | SequelizeTransaction

type Run = (text: string, values: readonly string[]) => PromiseLike<unknown>
type Members = Record<string, unknown>

/** What the guards and locks take; null: it is no transaction of a mapper. */
export function ormTransaction(tx: unknown): PgTransaction | PostgresTransaction | null {
  if ((typeof tx !== 'object' && typeof tx !== 'function') || tx === null) return null
  const members = tx as Members
  const client = drizzleClient(members)
  if (client !== null) return client
  const run = prisma(members) ?? kysely(members) ?? sequelize(members) ?? typeorm(members) ?? knex(members)
  if (run === null) return null
  return {
    async query(text, values) {
      try {
        // Two statements in one text are refused where a mapper prepares what it sends.
        const texts = values.length === 0 ? text.split('; ') : [text]
        let rows: unknown = []
        for (const one of texts) rows = await run(one, values as string[])
        return { rows: rows as readonly unknown[] }
      } catch (error) {
        throw driverError(error)
      }
    },
  }
}

function prisma(tx: Members): Run | null {
  if (typeof tx.$queryRawUnsafe !== 'function') return null
  const { _activeProvider: provider } = tx
  assertPostgres('Prisma', typeof provider === 'string' ? provider : 'postgresql')
  return (text, values) => (tx as unknown as PrismaTransaction).$queryRawUnsafe(text, ...(values as never[]))
}

/** Drizzle keeps the connection of the transaction in its session: a client of `pg` or `postgres`, as it is. */
function drizzleClient(tx: Members): PgTransaction | PostgresTransaction | null {
  if (typeof tx.transaction !== 'function' || typeof tx.session !== 'object' || tx.session === null) return null
  const { client } = tx.session as { readonly client?: Members }
  if (client === undefined || client === null) return null
  assertPostgres(
    'Drizzle',
    'unsafe' in client || !('execute' in client || 'prepare' in client) ? 'postgres' : 'mysql or sqlite',
  )
  return client as unknown as PgTransaction
}

function kysely(tx: Members): Run | null {
  if (typeof tx.executeQuery !== 'function' || typeof tx.selectFrom !== 'function') return null
  if (tx.isTransaction !== true) throw new UsageError('Kysely: give the trx of db.transaction().execute(…), not the db')
  return async (text, values) => {
    const query = { kind: 'RawNode', sqlFragments: [text], parameters: [] }
    const compiled = { sql: text, parameters: values, query, queryId: { queryId: 'holdfast' } }
    return (await (tx as unknown as KyselyTransaction).executeQuery(compiled as never)).rows
  }
}

function sequelize(tx: Members): Run | null {
  if (typeof tx.getDialect === 'function') {
    throw new UsageError('Sequelize: give the transaction of sequelize.transaction(…), not sequelize itself')
  }
  const { sequelize: db } = tx as { readonly sequelize?: Members }
  if (typeof db?.query !== 'function' || typeof tx.commit !== 'function') return null
  assertPostgres('Sequelize', (db as { getDialect(): string }).getDialect())
  const query = db.query.bind(db) as (text: string, options: object) => Promise<[readonly unknown[], unknown]>
  return async (text, values) => (await query(text, { bind: values, transaction: tx, raw: true }))[0]
}

function typeorm(tx: Members): Run | null {
  const { connection, queryRunner } = tx as { readonly connection?: Members; readonly queryRunner?: unknown }
  const { type } = (connection?.options ?? {}) as { readonly type?: unknown }
  if (typeof type !== 'string' || typeof tx.query !== 'function') return null
  assertPostgres('TypeORM', type)
  if (queryRunner === undefined && typeof tx.startTransaction !== 'function') {
    throw new UsageError('TypeORM: give the manager of dataSource.transaction(…), not that of the data source')
  }
  return (text, values) => (tx as unknown as TypeormTransaction).query(text, [...values])
}

/** Knex has ? where others have $1, and a value that is named twice is given twice. */
function knex(tx: Members): Run | null {
  if (typeof tx.raw !== 'function' || typeof tx.isCompleted !== 'function') return null
  const { config } = tx.client as { readonly config: { readonly client: unknown } }
  assertPostgres('Knex', String(config.client))
  return async (text, values) => {
    const named: string[] = []
    const marked = text.replaceAll('?', String.raw`\?`).replaceAll(/\$(\d+)/g, (_, n: string) => {
      named.push(values[Number(n) - 1] as string)
      return '?'
    })
    const { rows } = (await (tx as unknown as KnexTransaction).raw(marked, named as never)) as { rows: unknown[] }
    return rows
  }
}

function assertPostgres(mapper: string, dialect: string): void {
  if (/^(pg|postgres)/.test(dialect)) return
  throw new UsageError(
    `${mapper} on ${dialect} is not known here, on PostgreSQL it is: give the connection of the transaction itself`,
  )
}

/** Mappers wrap what the driver threw; its code tells what happened. */
function driverError(error: unknown): unknown {
  const { original, driverError: inner, meta, cause } = error as Record<string, Members | undefined>
  const adapter = (meta?.driverAdapterError as Members | undefined)?.cause as Members | undefined
  if (adapter?.originalCode !== undefined) {
    return Object.assign(new Error(String(adapter.originalMessage), { cause: error }), { code: adapter.originalCode })
  }
  return original ?? inner ?? (cause?.code === undefined ? error : cause)
}
