/** A server that cuts statements short: who waits for long is not cut, and who waits in vain is told so. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createConnection } from 'mysql2/promise'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AcquireTimeoutError, UsageError } from '../../../src/contract/errors.ts'
import { mysql, sessionLocks } from '../../../src/stores/mysql/index.ts'
import { holdfast } from '../../../src/index.ts'
import { optimistic } from '../../../src/optimistic/index.ts'
import { isTrue, type Plain, useMariadb, type Words, wordsOf } from './server.ts'

const bench = useMariadb()
let admin: Plain
let words: Words

beforeAll(async () => {
  const driver = mysql(bench.url)
  await driver.setup?.()
  await driver.close()
  admin = await bench.connect()
  await admin.ask('CREATE TABLE stock (id INT PRIMARY KEY, n INT, version INT NOT NULL) ENGINE = InnoDB')
  await admin.ask('INSERT INTO stock VALUES (1, 5, 0)')
  words = await wordsOf(admin)
  await admin.ask(`SET GLOBAL ${words.limit} = ${words.second / 5}`)
})
afterAll(() => admin?.ask(`SET GLOBAL ${words.limit} = 0`))

test('a session lock that is waited for five times as long as a statement may take is had', async () => {
  await using a = sessionLocks(bench.url)
  await using b = sessionLocks(bench.url)
  const held = await a.acquire('long')
  const waiting = b.acquire('long')
  await isTrue(admin, "SELECT COUNT(*) = 1 FROM information_schema.PROCESSLIST WHERE state = 'User lock'")
  await sleep(1_000)
  expect(await held.release()).toBe(true)
  const next = await waiting
  next.assertHeld()
  await next.release()
})

test('who waits on the server for a lock of ours is not cut either', async () => {
  const before = await admin.ask(words.exceeded)
  const [a, b] = [await holdfast(mysql(bench.url)), await holdfast(mysql(bench.url))]
  const held = await a.mutex('rung').acquire()
  const waiting = b.mutex('rung').acquire()
  await isTrue(admin, "SELECT COUNT(*) > 0 FROM information_schema.PROCESSLIST WHERE info LIKE '%ear_v%'")
  await sleep(1_000)
  await held.release()
  await (await waiting).release()
  await a.close()
  await b.close()
  expect(await admin.ask(words.exceeded)).toEqual(before)
})

test('optimistic inside a REPEATABLE READ transaction that was overtaken: refused at once, and why', async () => {
  const connection = await createConnection(bench.url)
  const take = (waitMs?: number) =>
    optimistic(connection as never).update<{ n: number }>(
      'stock',
      { id: 1 },
      (row) => ({ n: row.n - 1 }),
      waitMs === undefined ? {} : { waitMs },
    )
  await connection.query('START TRANSACTION')
  await connection.query('SELECT * FROM stock')
  await admin.ask('UPDATE stock SET n = 4, version = version + 1')
  await expect(take(600_000)).rejects.toBeInstanceOf(UsageError)
  await expect(take()).rejects.toThrow(/REPEATABLE READ.*READ COMMITTED/)
  await expect(take(0)).rejects.toBeInstanceOf(AcquireTimeoutError)
  await connection.query('ROLLBACK')
  await connection.query('SET TRANSACTION ISOLATION LEVEL READ COMMITTED')
  await connection.query('START TRANSACTION')
  await connection.query('SELECT * FROM stock')
  await admin.ask('UPDATE stock SET n = 3, version = version + 1')
  expect(await take()).toMatchObject({ n: 2 })
  await connection.query('COMMIT')
  await connection.end()
})
