/**
 * `lockInTransaction` and `sqlGuard` inside the transactions of object mappers and query builders, each the real
 * package.
 */
import { PrismaPg } from '@prisma/adapter-pg'
import { drizzle } from 'drizzle-orm/node-postgres'
import { drizzle as drizzleJs } from 'drizzle-orm/postgres-js'
import { sql as drizzleSql } from 'drizzle-orm'
import knex from 'knex'
import { Kysely, PostgresDialect, sql as kyselySql } from 'kysely'
import { Pool } from 'pg'
import postgresJs from 'postgres'
import { Sequelize } from 'sequelize'
import { DataSource } from 'typeorm'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Proof, sqlGuard, type SqlTransaction } from '../../../src/fence/index.ts'
import { StaleTokenError, UsageError } from '../../../src/index.ts'
import { lockInTransaction } from '../../../src/stores/postgres/index.ts'
import { prismaClient } from './prisma.js'
import { someoneWaits, usePostgres } from './server.ts'

const bench = usePostgres()
const guard = sqlGuard()
const proof = (token: bigint): Proof => ({ line: 'l', token, place: '0123456789abcdef' })

/** One mapper: does work in a transaction, with what its users would give to us, and a way to write. */
interface Mapper {
  begin<T>(work: (tx: SqlTransaction, write: (text: string) => Promise<unknown>) => Promise<T>): Promise<T>
  /** What is no transaction, and must be refused. */
  readonly outside: unknown
  close(): Promise<unknown>
}

const MAPPERS: Record<string, (url: string) => Promise<Mapper> | Mapper> = {
  Prisma(url) {
    const db = prismaClient(new PrismaPg({ connectionString: url }))
    const begin: Mapper['begin'] = (work) => db.$transaction((tx) => work(tx, (text) => tx.$executeRawUnsafe(text)))
    return { begin, outside: db, close: () => db.$disconnect() }
  },
  'Drizzle over pg'(url) {
    const pool = new Pool({ connectionString: url })
    const db = drizzle(pool)
    const begin: Mapper['begin'] = (work) =>
      db.transaction((tx) => work(tx as never, (text) => tx.execute(drizzleSql.raw(text))))
    return { begin, outside: db, close: () => pool.end() }
  },
  'Drizzle over postgres.js'(url) {
    const client = postgresJs(url)
    const db = drizzleJs(client)
    const begin: Mapper['begin'] = (work) =>
      db.transaction((tx) => work(tx as never, (text) => tx.execute(drizzleSql.raw(text))))
    return { begin, outside: db, close: () => client.end() }
  },
  Kysely(url) {
    const db = new Kysely<object>({
      dialect: new PostgresDialect({ pool: new Pool({ connectionString: url }) as never }),
    })
    const begin: Mapper['begin'] = (work) =>
      db.transaction().execute((tx) => work(tx as never, (text) => kyselySql.raw(text).execute(tx)))
    return { begin, outside: db, close: () => db.destroy() }
  },
  Knex(url) {
    const db = knex({ client: 'pg', connection: url })
    const begin: Mapper['begin'] = (work) => db.transaction((tx) => work(tx as never, (text) => tx.raw(text)))
    return { begin, outside: db, close: () => db.destroy() }
  },
  async TypeORM(url) {
    const db = await new DataSource({ type: 'postgres', url }).initialize()
    const begin: Mapper['begin'] = (work) => db.transaction((tx) => work(tx, (text) => tx.query(text)))
    return { begin, outside: db.manager, close: () => db.destroy() }
  },
  Sequelize(url) {
    const db = new Sequelize(url, { logging: false })
    const begin: Mapper['begin'] = (work) =>
      db.transaction((tx) => work(tx as never, (text) => db.query(text, { transaction: tx })))
    return { begin, outside: db, close: () => db.close() }
  },
}

beforeAll(async () => {
  const db = await bench.connect()
  await db.query('CREATE TABLE seats (mapper text, n int)')
  await guard.setup(db as never)
})

describe.each(Object.keys(MAPPERS))('%s', (name) => {
  test('lock and data commit together; a late token is refused; what is no transaction, too', async () => {
    const mapper = await (MAPPERS[name] as (url: string) => Promise<Mapper> | Mapper)(bench.url)
    const observer = await bench.connect()
    await observer.query({ text: 'INSERT INTO seats VALUES ($1, 1)', values: [name], rowMode: 'array' })
    const order: string[] = []
    let letGo = (): void => undefined
    const mayGo = new Promise<void>((resolve) => {
      letGo = resolve
    })
    const sell = (who: string, until?: Promise<void>): Promise<unknown> =>
      mapper.begin(async (tx, write) => {
        await lockInTransaction(tx as never, `seats ${name}`)
        order.push(`${who} has it`)
        await write(`UPDATE seats SET n = n - 1 WHERE mapper = '${name}'`)
        await until
        order.push(`${who} commits`)
      })
    const first = sell('a', mayGo)
    await expect.poll(() => order.length).toBe(1)
    const second = sell('b')
    await someoneWaits(observer)
    letGo()
    await Promise.all([first, second])
    expect(order).toEqual(['a has it', 'a commits', 'b has it', 'b commits'])

    await mapper.begin((tx) => guard.check(tx, name, proof(6n)))
    const late = mapper.begin(async (tx, write) => {
      await guard.check(tx, name, proof(5n))
      await write(`UPDATE seats SET n = 100 WHERE mapper = '${name}'`)
    })
    await expect(late).rejects.toBeInstanceOf(StaleTokenError)
    await expect(lockInTransaction(mapper.outside as never, 'seats')).rejects.toThrow(/transaction|unsafe|query/)
    await expect(guard.check(mapper.outside as never, name, proof(7n))).rejects.toBeInstanceOf(UsageError)
    const left = { text: 'SELECT n FROM seats WHERE mapper = $1', values: [name], rowMode: 'array' } as const
    expect((await observer.query(left)).rows).toEqual([[-1]])
    await mapper.close()
  })
})
