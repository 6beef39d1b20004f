/** Calls of one turn as one statement: as MariaDB does it, and, on the same server, as MySQL has to. */
import { randomBytes } from 'node:crypto'
import { createPool, type Pool } from 'mysql2/promise'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Driver, Entry } from '../../../src/contract/driver.ts'
import { mysql } from '../../../src/stores/mysql/index.ts'
import { type Joined, joinedCases } from '../sql/joined.ts'
import { isTrue, type Plain, useMariadb } from './server.ts'

const bench = useMariadb()
let slow: Plain
let observer: Plain
beforeAll(async () => {
  const driver = mysql(bench.url)
  await driver.setup?.()
  await driver.close()
  slow = await bench.connect()
  observer = await bench.connect()
})

const joined: Omit<Joined, 'driver'> = {
  url: () => bench.url,
  async lockRow(line) {
    await slow.ask('BEGIN')
    await slow.ask('SELECT 1 FROM holdfast_line WHERE name = ? FOR UPDATE', [Buffer.from(line)])
    return () => slow.ask('COMMIT')
  },
  raiseFloor: (token) => observer.ask('UPDATE holdfast_meta SET floor = ?', [String(token)]),
  async deadlocks() {
    const [[count] = []] = await observer.ask(
      "SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'lock_deadlocks'",
    )
    return Number(count)
  },
}

describe('by plain statements', () => {
  joinedCases({ ...joined, driver: (url) => mysql(url, { timeoutMs: 20_000 }) })
})

describe('by procedures, as on a server that does not say that it is MariaDB', () => {
  const pools: Pool[] = []
  afterAll(() => Promise.all(pools.map((pool) => pool.end())))
  joinedCases({
    ...joined,
    driver(url) {
      const pool = createPool({ uri: url, supportBigNumbers: true, bigNumberStrings: true })
      pools.push(pool)
      return mysql(saidToBeMysql(pool), { timeoutMs: 20_000 })
    },
  })
})

function saidToBeMysql(pool: Pool): Pool {
  return new Proxy(pool, {
    get(target, key) {
      if (key !== 'getConnection') return Reflect.get(target, key) as unknown
      return async () => {
        const connection = await target.getConnection()
        const query = connection.query.bind(connection)
        connection.query = ((options: { sql: string }) =>
          options.sql === 'SELECT VERSION()' ? [[['8.0.36']]] : query(options as never)) as never
        return connection
      }
    },
  })
}

test('while lines are being entered together no sweep begins, and a sweep does not fail for that', async () => {
  const driver = mysql(bench.url, { timeoutMs: 20_000 })
  const line = `swept ${randomBytes(6).toString('hex')}`
  const isMariadb = String((await observer.ask('SELECT VERSION()'))[0]?.[0]).includes('MariaDB')
  // The second of the lines is not made before we say so.
  await slow.ask("DO GET_LOCK('holdfast.test', 0)")
  await observer.ask(
    'CREATE TRIGGER holdfast_slow BEFORE INSERT ON holdfast_line FOR EACH ROW ' +
      `SET NEW.changes = IF(NEW.name = '${line} 1', GET_LOCK('holdfast.test', 60), 1)`,
  )
  try {
    const entering = enterAll(driver, line)
    await isTrue(observer, 'SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = "User lock"')
    const floor = 'SELECT floor FROM holdfast_meta WHERE one = 1 FOR UPDATE NOWAIT'
    expect(
      await slow.ask(floor).then(
        () => 'begins',
        () => 'waits',
      ),
    ).toBe(isMariadb ? 'waits' : 'begins')
    expect(Number((await slow.ask('CALL holdfast_sweep_v6(600000000, 1000)'))[0]?.[0])).toBe(0)
    await slow.ask("DO RELEASE_LOCK('holdfast.test')")
    expect(await entering).toEqual([0, 0, 0])
    const told = await observer.ask('SELECT solo_data FROM holdfast_line WHERE name LIKE ? ORDER BY name', [
      `${line} %`,
    ])
    expect(told.flat()).toEqual(['{"name":"Ü"}', '{"name":"Ü"}', '{"name":"日"}'])
  } finally {
    await slow.ask("DO RELEASE_LOCK('holdfast.test')")
    await observer.ask('DROP TRIGGER holdfast_slow')
    await driver.close()
  }
}, 60_000)

test('while somebody sweeps, lines are entered together all the same', async () => {
  const driver = mysql(bench.url, { timeoutMs: 20_000 })
  await slow.ask('BEGIN')
  await slow.ask('SELECT floor FROM holdfast_meta WHERE one = 1 FOR UPDATE')
  expect(await enterAll(driver, `beside ${randomBytes(6).toString('hex')}`)).toEqual([0, 0, 0])
  await slow.ask('COMMIT')
  await driver.close()
}, 60_000)

async function enterAll(driver: Driver, line: string): Promise<(number | undefined)[]> {
  const entries = [0, 1, 2].map((i): Entry => {
    const id = randomBytes(16).toString('hex')
    return {
      line: `${line} ${i}`,
      id,
      weight: 1,
      capacity: 1,
      ttlMs: 60_000,
      data: i < 2 ? '{"name":"Ü"}' : '{"name":"日"}',
    }
  })
  return (await Promise.all(entries.map((entry) => driver.enter(entry, true)))).map((place) => place?.ahead)
}
