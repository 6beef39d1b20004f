/** The two schedules that gave two holders (rules 1 and 2 of the design), forced with a held row lock. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Driver, type Entry, isGranted } from '../../../src/contract/driver.ts'
import { mysql } from '../../../src/stores/mysql/index.ts'
import { type Bench, isTrue, type Plain, someoneWaits, useMariadb } from './server.ts'

const bench: Bench = useMariadb()
let driver: Driver
let slow: Plain
let observer: Plain

beforeAll(async () => {
  driver = mysql(bench.url)
  await driver.setup?.()
  slow = await bench.connect()
  observer = await bench.connect()
})
afterAll(() => driver.close())

function entry(line: string, ttlMs = 20_000): Entry {
  return { line, id: randomBytes(16).toString('hex'), weight: 1, capacity: 1, ttlMs, data: '{}' }
}

const hex = (line: string): string => Buffer.from(line).toString('hex')

describe('rule 1: lock and count are never one snapshot', () => {
  test('a count by a plain read after the lock, in a repeatable read, gives two holders', async () => {
    await slow.ask('CREATE TABLE naive_line (name VARCHAR(20) PRIMARY KEY, n BIGINT)')
    await slow.ask('CREATE TABLE naive_place (line VARCHAR(20), id VARCHAR(20))')
    await slow.ask("INSERT INTO naive_line VALUES ('a', 0)")
    const other = await bench.connect()
    const count = "SELECT COUNT(*) FROM naive_place WHERE line = 'a'"
    await slow.ask('START TRANSACTION')
    await slow.ask("SELECT n FROM naive_line WHERE name = 'a' FOR UPDATE")
    const first = await slow.ask(count)
    await slow.ask("INSERT INTO naive_place VALUES ('a', 'A')")
    // B's transaction has read something before it waits: its snapshot is from then.
    await other.ask('START TRANSACTION')
    await other.ask('SELECT COUNT(*) FROM naive_line')
    const locking = other.ask("SELECT n FROM naive_line WHERE name = 'a' FOR UPDATE")
    await someoneWaits(observer)
    await slow.ask('COMMIT')
    await locking
    const second = await other.ask(count)
    await other.ask('ROLLBACK')
    expect([String(first[0]?.[0]), String(second[0]?.[0])]).toEqual(['0', '0'])
  })

  test.each(['empty', 'in use'])(
    'ours, on a line that is %s: two that waited for its row do not both hold',
    async (state) => {
      const line = `rule 1 ${state}`
      const before = [entry(line), entry(line)] as const
      for (const at of before) await driver.enter(at, true)
      if (state === 'empty') for (const at of before) await driver.leave(at)
      // Both are inside their procedures, behind the row, when it is let go.
      await slow.ask('START TRANSACTION')
      await slow.ask(`SELECT last FROM holdfast_line WHERE name = x'${hex(line)}' FOR UPDATE`)
      const others = [mysql(bench.url), mysql(bench.url)]
      const contenders = [entry(line), entry(line)]
      const entering = contenders.map((at, i) => (others[i] as Driver).enter(at, true))
      await isTrue(observer, 'SELECT COUNT(*) >= 2 FROM information_schema.INNODB_TRX WHERE trx_state = "LOCK WAIT"')
      await slow.ask('COMMIT')
      const places = await Promise.all(entering)
      expect(places.map((place) => Number(place?.ahead)).toSorted((a, b) => a - b)).toEqual(
        state === 'empty' ? [0, 1] : [2, 3],
      )
      for (const other of others) await other.close()
    },
  )
})

describe('rule 2: a place has lapsed only once it is deleted', () => {
  test('an enter that judges lapse by reading gives two holders', async () => {
    const now = 'UTC_TIMESTAMP(6)'
    await slow.ask('CREATE TABLE naive_lease (id VARCHAR(20) PRIMARY KEY, lapse DATETIME(6))')
    await slow.ask(`INSERT INTO naive_lease VALUES ('A', ${now} + INTERVAL 1 SECOND)`)
    await slow.ask('START TRANSACTION')
    await slow.ask(`UPDATE naive_lease SET lapse = ${now} + INTERVAL 20 SECOND WHERE id = 'A' AND lapse > ${now}`)
    const renewed = await slow.ask(`SELECT COUNT(*) FROM naive_lease WHERE lapse > ${now} + INTERVAL 10 SECOND`)
    await isTrue(observer, `SELECT lapse <= ${now} FROM naive_lease WHERE id = 'A'`)
    const alive = await observer.ask(`SELECT COUNT(*) FROM naive_lease WHERE lapse > ${now}`)
    await slow.ask('COMMIT')
    expect([String(renewed[0]?.[0]), String(alive[0]?.[0])], 'A is renewed, and B saw nobody').toEqual(['1', '0'])
  })

  test.each(['alone', 'in a crowd'])(
    'ours, the holder %s: a late renewal counts, and the enter waits for it',
    async (state) => {
      const line = `rule 2 ${state}`
      const [a, b] = [entry(line, 4_000), entry(line)]
      await driver.enter(a, true)
      if (state === 'in a crowd') {
        const other = entry(line)
        await driver.enter(other, true)
        await driver.leave(other)
      }
      const now = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
      const [table, set, where] =
        state === 'alone'
          ? ['holdfast_line', 'solo_lapse', `name = x'${hex(line)}'`]
          : ['holdfast_place', 'lapse', `id = x'${a.id}'`]
      await isTrue(observer, `SELECT ${set} - ${now} < 1500000 FROM ${table} WHERE ${where}`)
      // The renewal, as its procedure does it: the line's row, then the place; not yet committed.
      await slow.ask('START TRANSACTION')
      await slow.ask(`SELECT last FROM holdfast_line WHERE name = x'${hex(line)}' FOR UPDATE`)
      await slow.ask(`UPDATE ${table} SET ${set} = ${now} + 20000000 WHERE ${where} AND ${set} > ${now}`)
      // By what is committed, its time is over.
      await isTrue(observer, `SELECT ${set} <= ${now} FROM ${table} WHERE ${where}`)
      const entering = driver.enter(b, true)
      await someoneWaits(observer)
      await slow.ask('COMMIT')
      const place = await entering
      expect(place !== null && isGranted(b, place)).toBe(false)
    },
  )

  test('ours: whoever deletes first wins, and the late renewal is told that it is over', async () => {
    const line = 'rule 2 reverse'
    const [a, b] = [entry(line, 50), entry(line)]
    await driver.enter(a, true)
    await isTrue(
      observer,
      `SELECT solo_lapse <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) FROM holdfast_line WHERE ` +
        `name = x'${hex(line)}'`,
    )
    await slow.ask('START TRANSACTION')
    await slow.ask(`SELECT last FROM holdfast_line WHERE name = x'${hex(line)}' FOR UPDATE`)
    const entering = driver.enter(b, true)
    await someoneWaits(observer)
    const touching = driver.touch([a])
    await isTrue(observer, 'SELECT COUNT(*) >= 2 FROM information_schema.INNODB_TRX WHERE trx_state = "LOCK WAIT"')
    await slow.ask('COMMIT')
    expect(await touching).toEqual([null])
    expect((await entering)?.ahead).toBe(0)
  })
})

test('two processes that renew the same lines in opposite order both get through', async () => {
  const lines = Array.from({ length: 40 }, (_, i) => `crowd ${i}`)
  const [mine, theirs] = [lines.map((line) => entry(line)), lines.map((line) => entry(line))]
  for (const at of [...mine, ...theirs]) await driver.enter(at, true)
  const rounds = Array.from({ length: 20 }, async (_, i) => {
    const batch = i % 2 === 0 ? mine : theirs.toReversed()
    expect((await driver.touch(batch)).every((place) => place !== null)).toBe(true)
  })
  await Promise.all(rounds)
})
