/**
 * `lockInTransaction` and `sqlGuard` inside the transactions of object mappers and query builders, each the real
 * package, and of the clients themselves.
 */
import { PrismaMariaDb } from '@prisma/adapter-mariadb'
import { drizzle } from 'drizzle-orm/mysql2'
import { sql as drizzleSql } from 'drizzle-orm'
import knex from 'knex'
import { Kysely, MysqlDialect, sql as kyselySql } from 'kysely'
import { createPool as createMariadbPool } from 'mariadb'
import { createPool as createCallbackPool } from 'mysql2'
import { createPool } from 'mysql2/promise'
import { Sequelize } from 'sequelize'
import { DataSource } from 'typeorm'
import { beforeAll, expect, test } from 'vitest'
import { sqlGuard } from '../../../src/fence/index.ts'
import { UsageError } from '../../../src/index.ts'
import { lockInTransaction, mysql } from '../../../src/stores/mysql/index.ts'
import { lockInTransaction as lockOnPostgres } from '../../../src/stores/postgres/index.ts'
import { type Mapper, type Observer, tryMapper } from '../sql/mappers.ts'
import { prismaClient } from '../sql/prisma.js'
import { someoneWaits, useMariadb } from './server.ts'

const bench = useMariadb()
const guard = sqlGuard()

const MAPPERS: Record<string, (url: string) => Promise<Mapper> | Mapper> = {
  Prisma(url) {
    const db = prismaClient('mysql', new PrismaMariaDb(url.replace('mysql:', 'mariadb:')))
    const begin: Mapper['begin'] = (work) => db.$transaction((tx) => work(tx, (text) => tx.$executeRawUnsafe(text)))
    return { begin, outside: db, close: () => db.$disconnect() }
  },
  Drizzle(url) {
    const pool = createPool(url)
    const db = drizzle(pool)
    const begin: Mapper['begin'] = (work) =>
      db.transaction((tx) => work(tx as never, (text) => tx.execute(drizzleSql.raw(text))))
    return { begin, outside: db, close: () => pool.end() }
  },
  Kysely(url) {
    const db = new Kysely<object>({ dialect: new MysqlDialect({ pool: createCallbackPool(url) as never }) })
    const begin: Mapper['begin'] = (work) =>
      db.transaction().execute((tx) => work(tx as never, (text) => kyselySql.raw(text).execute(tx)))
    return { begin, outside: db, close: () => db.destroy() }
  },
  Knex(url) {
    const db = knex({ client: 'mysql2', connection: url })
    const begin: Mapper['begin'] = (work) => db.transaction((tx) => work(tx as never, async (text) => tx.raw(text)))
    return { begin, outside: db, close: () => db.destroy() }
  },
  async TypeORM(url) {
    const db = await new DataSource({ type: 'mariadb', url, driver: await import('mysql2') }).initialize()
    const begin: Mapper['begin'] = (work) => db.transaction((tx) => work(tx, (text) => tx.query(text)))
    return { begin, outside: db.manager, close: () => db.destroy() }
  },
  Sequelize(url) {
    const db = new Sequelize(url, { logging: false })
    const begin: Mapper['begin'] = (work) =>
      db.transaction((tx) => work(tx as never, (text) => db.query(text, { transaction: tx })))
    return { begin, outside: db, close: () => db.close() }
  },
  mysql2(url) {
    const pool = createCallbackPool(url)
    return byHand(pool.promise(), (connection) => connection.connection)
  },
  mariadb: (url) => byHand(createMariadbPool(url.replace('mysql:', 'mariadb:'))),
}

interface HandConnection {
  query(text: string): Promise<unknown>
  release(): unknown
}

/** A connection of a pool, with BEGIN and COMMIT as its users say them. */
function byHand<C extends HandConnection>(
  pool: { getConnection(): Promise<C>; end(): Promise<unknown> },
  given: (connection: C) => unknown = (connection) => connection,
): Mapper {
  const begin: Mapper['begin'] = async (work) => {
    const connection = await pool.getConnection()
    try {
      await connection.query('BEGIN')
      const answer = await work(given(connection) as never, (text) => connection.query(text))
      await connection.query('COMMIT')
      return answer
    } catch (error) {
      await connection.query('ROLLBACK')
      throw error
    } finally {
      connection.release()
    }
  }
  return { begin, outside: pool, close: () => pool.end() }
}

let observer: Observer

beforeAll(async () => {
  const driver = mysql(bench.url)
  await driver.setup?.()
  await driver.close()
  const pool = createPool(bench.url)
  await guard.setup(pool as never)
  await pool.end()
  const db = await bench.connect()
  await db.ask('CREATE TABLE seats (mapper VARCHAR(40), n INT) ENGINE = InnoDB')
  observer = {
    guard,
    lock: (tx, name) => lockInTransaction(tx as never, name),
    addSeat: (mapper) => db.ask('INSERT INTO seats VALUES (?, 1)', [mapper]),
    seats: async (mapper) => Number((await db.ask('SELECT n FROM seats WHERE mapper = ?', [mapper]))[0]?.[0]),
    someoneWaits: () => someoneWaits(db),
  }
})

test.each(Object.entries(MAPPERS))('%s: lock, guard, and what is no transaction', async (name, open) => {
  const mapper = await open(bench.url)
  try {
    await tryMapper(name, mapper, observer)
    if (name === 'mysql2' || name === 'mariadb') return
    const other = mapper.begin((tx) => lockOnPostgres(tx as never, 'seats'))
    await expect(other).rejects.toThrow(/holdfast\/mysql/)
  } finally {
    await mapper.close()
  }
})

test('an old snapshot is told by every mapper: the server says so, and the mapper wraps it', async () => {
  for (const [name, open] of Object.entries(MAPPERS)) {
    const mapper = await open(bench.url)
    const refused = mapper.begin(async (tx, write) => {
      await write('SELECT * FROM seats')
      await mapper.begin((other) => lockInTransaction(other as never, `old ${name}`))
      await lockInTransaction(tx as never, `old ${name}`)
    })
    await expect(refused, name).rejects.toBeInstanceOf(UsageError)
    await expect(refused, name).rejects.toThrow(/before the first SELECT/)
    await mapper.close()
  }
})
