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
import { beforeAll, test } from 'vitest'
import { sqlGuard } from '../../../src/fence/index.ts'
import { lockInTransaction } from '../../../src/stores/postgres/index.ts'
import { type Mapper, type Observer, tryMapper } from '../sql/mappers.ts'
import { prismaClient } from '../sql/prisma.js'
import { someoneWaits, usePostgres } from './server.ts'

const bench = usePostgres()
const guard = sqlGuard()

/** A connection may still be closing when the server is stopped: its pool must not end the process over that. */
function deafPool(connectionString: string): Pool {
  const pool = new Pool({ connectionString })
  pool.on('error', () => {})
  return pool
}

const MAPPERS: Record<string, (url: string) => Promise<Mapper> | Mapper> = {
  Prisma(url) {
    const db = prismaClient('postgresql', new PrismaPg({ connectionString: url }))
    const begin: Mapper['begin'] = (work) => db.$transaction((tx) => work(tx, (text) => tx.$executeRawUnsafe(text)))
    return { begin, outside: db, close: () => db.$disconnect() }
  },
  'Drizzle over pg'(url) {
    const pool = deafPool(url)
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
      dialect: new PostgresDialect({ pool: deafPool(url) as never }),
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

let observer: Observer

beforeAll(async () => {
  const db = await bench.connect()
  await db.query('CREATE TABLE seats (mapper text, n int)')
  await guard.setup(db as never)
  const ask = async (text: string, mapper: string): Promise<unknown[][]> =>
    (await db.query({ text, values: [mapper], rowMode: 'array' })).rows as unknown[][]
  observer = {
    guard,
    lock: (tx, name) => lockInTransaction(tx as never, name),
    addSeat: (mapper) => ask('INSERT INTO seats VALUES ($1, 1)', mapper),
    seats: async (mapper) => Number((await ask('SELECT n FROM seats WHERE mapper = $1', mapper))[0]?.[0]),
    someoneWaits: () => someoneWaits(db),
  }
})

test.each(Object.entries(MAPPERS))('%s: lock, guard, and what is no transaction', async (name, open) => {
  const mapper = await open(bench.url)
  await tryMapper(name, mapper, observer)
  await mapper.close()
})
