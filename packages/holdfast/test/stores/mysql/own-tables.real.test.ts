/** Locks inside the caller's transaction, and the optimistic version on the caller's own table. */
import { createPool, type Pool } from 'mysql2/promise'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { UsageError } from '../../../src/contract/errors.ts'
import { lockInTransaction, mysql } from '../../../src/stores/mysql/index.ts'
import { optimistic } from '../../../src/optimistic/index.ts'
import { someoneWaits, useMariadb } from './server.ts'

const bench = useMariadb()
let pool: Pool

beforeAll(async () => {
  const driver = mysql(bench.url)
  await driver.setup?.()
  await driver.close()
  pool = createPool({ uri: bench.url, supportBigNumbers: true })
  await pool.query(
    'CREATE TABLE `odd ``name` (id INT PRIMARY KEY, `left` INT, version BIGINT NOT NULL) ENGINE = InnoDB',
  )
  await pool.query('INSERT INTO `odd ``name` VALUES (42, 1000, 9007199254740993)')
})
afterAll(() => pool?.end())

describe('lockInTransaction', () => {
  test.each(['new', 'known'])('holds a %s name until the transaction ends', async () => {
    const [a, b] = [await pool.getConnection(), await pool.getConnection()]
    await a.beginTransaction()
    await lockInTransaction(a as never, 'stock:42')
    await b.beginTransaction()
    const locking = lockInTransaction(b as never, 'stock:42')
    await someoneWaits(await bench.connect())
    await a.commit()
    await locking
    await b.rollback()
    a.release()
    b.release()
  })

  test('is refused outside a transaction, and for what is not a name', async () => {
    const connection = await pool.getConnection()
    await expect(lockInTransaction(connection as never, 'stock:42')).rejects.toBeInstanceOf(UsageError)
    await expect(lockInTransaction(connection as never, '')).rejects.toBeInstanceOf(UsageError)
    connection.release()
  })
})

test('optimistic: 16 writers lose no update, above 2^53 as well', async () => {
  await pool.query('UPDATE `odd ``name` SET `left` = 0')
  const stock = optimistic(pool as never)
  const writer = async (): Promise<void> => {
    for (let i = 0; i < 10; i++) {
      await stock.update<{ left: number }>('odd `name', { id: 42 }, (row) => ({ left: row.left + 1 }), {
        waitMs: 60_000,
      })
    }
  }
  await Promise.all(Array.from({ length: 16 }, writer))
  const [rows] = await pool.query('SELECT `left`, CAST(version AS CHAR) AS version FROM `odd ``name`')
  expect(rows).toEqual([{ left: 160, version: '9007199254741153' }])
})

test('optimistic: a key of several columns with odd names names one row, and only that one is written', async () => {
  await pool.query(
    'CREATE TABLE `per ``shop` (`shop.id` INT, `s``ku` VARCHAR(20), `left` INT, `re vision` BIGINT NOT NULL, ' +
      'PRIMARY KEY (`shop.id`, `s``ku`))',
  )
  await pool.query("INSERT INTO `per ``shop` VALUES (1, 'a', 5, 0), (1, 'b', 5, 0), (2, 'a', 5, 0)")
  const stock = optimistic(pool as never, { versionColumn: 're vision' })
  const take = (row: { left: number }): { left: number } => ({ left: row.left - 1 })
  const key = { 'shop.id': 1, 's`ku': 'a' }
  expect(await stock.update<{ left: number }>('test.per `shop', key, take)).toMatchObject({ ...key, left: 4 })
  const [rows] = await pool.query('SELECT `left`, `re vision` AS v FROM `per ``shop` ORDER BY `shop.id`, `s``ku`')
  expect(rows).toEqual([
    { left: 4, v: 1 },
    { left: 5, v: 0 },
    { left: 5, v: 0 },
  ])
  await expect(stock.update('per `shop', { 'shop.id': 1 }, take as never)).rejects.toThrow(/must name one row/)
  await expect(stock.update('per `shop', { ...key, 'x` OR 1=1 -- ': 1 }, take as never)).rejects.toThrow(
    /Unknown column/,
  )
})
