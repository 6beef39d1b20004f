/** The two schedules that gave two holders (rules 1 and 2 of the design), forced with a held row lock. */
import { randomBytes } from 'node:crypto'
import type { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Driver, type Entry, isGranted } from '../../../src/contract/driver.ts'
import { postgres } from '../../../src/stores/postgres/index.ts'
import { someoneWaits, usePostgres } from './server.ts'

const bench = usePostgres()
let driver: Driver
let slow: Client
let observer: Client

beforeAll(async () => {
  driver = postgres(bench.url, { listenUrl: false })
  await driver.setup?.()
  slow = await bench.connect()
  observer = await bench.connect()
})
afterAll(() => driver.close())

function entry(line: string, ttlMs = 20_000): Entry {
  return { line, id: randomBytes(16).toString('hex'), weight: 1, capacity: 1, ttlMs, data: '{}' }
}

async function slowly(sql: string, values: unknown[] = []): Promise<unknown[][]> {
  return (await slow.query({ text: sql, values, rowMode: 'array' })).rows
}

const enterSql = 'SELECT public.holdfast_enter_v6($1, $2, 1, 1, $3, $4, NULL, true)'
const enterArgs = ({ line, id, ttlMs, data }: Entry): unknown[] => [Buffer.from(line), id, ttlMs * 1_000, data]
const hex = (line: string): string => Buffer.from(line).toString('hex')

describe('rule 1: lock and count are never one snapshot', () => {
  test('a single statement that locks the line and counts the places gives two holders', async () => {
    await slowly('CREATE TABLE naive_line (name text PRIMARY KEY, n bigint)')
    await slowly('CREATE TABLE naive_place (line text, id text)')
    await slowly("INSERT INTO naive_line VALUES ('a', 0)")
    const naive = `WITH l AS (UPDATE naive_line SET n = n + 1 WHERE name = 'a' RETURNING n),
      p AS (INSERT INTO naive_place SELECT 'a', $1 FROM l)
      SELECT (SELECT count(*)::int FROM naive_place, l) AS ahead`
    await slowly('BEGIN')
    const first = await slowly(naive, ['A'])
    const second = observer.query({ text: naive, values: ['B'], rowMode: 'array' })
    await someoneWaits(await bench.connect())
    await slowly('COMMIT')
    expect([first[0]?.[0], (await second).rows[0]?.[0]]).toEqual([0, 0])
  })

  test.each(['empty', 'new', 'used by rows'])(
    'ours, on a line that is %s: the second waits and sees the first',
    async (state) => {
      const line = `rule 1 ${state}`
      if (state === 'empty') {
        const before = entry(line)
        await driver.enter(before, true)
        await driver.leave(before)
      }
      const old = [entry(line), entry(line)] as const
      if (state === 'used by rows') for (const at of old) await driver.enter(at, true)
      const [a, b] = [entry(line), entry(line)]
      await slowly('BEGIN')
      if (state === 'used by rows') {
        for (const { id } of old)
          await slowly('SELECT public.holdfast_leave_v6($1, $2, 1000, 0)', [Buffer.from(line), id])
      }
      await slowly(enterSql, enterArgs(a))
      const entering = driver.enter(b, true)
      await someoneWaits(observer)
      await slowly('COMMIT')
      const place = await entering
      expect(place).toMatchObject({ ahead: 1 })
      expect((await driver.touch([a, b])).map((at) => at?.ahead)).toEqual([0, 1])
    },
  )
})

describe('rule 2: a place has lapsed only once it is deleted', () => {
  test('an enter that judges lapse by reading gives two holders', async () => {
    await slowly('CREATE TABLE naive_lease (id text PRIMARY KEY, lapse timestamptz)')
    await slowly("INSERT INTO naive_lease VALUES ('A', clock_timestamp() + interval '300 ms')")
    await slowly('BEGIN')
    const renewed = await slowly(
      "UPDATE naive_lease SET lapse = clock_timestamp() + interval '20 s' WHERE id = 'A' AND lapse > " +
        'clock_timestamp() RETURNING id',
    )
    await isTrue(observer, "SELECT lapse <= clock_timestamp() FROM naive_lease WHERE id = 'A'")
    const { rows } = await observer.query({
      text: 'SELECT count(*)::int FROM naive_lease WHERE lapse > clock_timestamp()',
      rowMode: 'array',
    })
    await slowly('COMMIT')
    expect([renewed.length, rows[0]?.[0]], 'A is renewed, and B saw nobody').toEqual([1, 0])
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
      const leftUs = `SELECT coalesce(
        (SELECT solo_lapse FROM public.holdfast_line WHERE solo_id = '${a.id}'),
        (SELECT lapse FROM public.holdfast_place WHERE id = '${a.id}')) - public.holdfast_now_v6()`
      await isTrue(observer, `SELECT (${leftUs}) < 1500000`)
      await slowly('BEGIN')
      const [[answer] = []] = await slowly('SELECT public.holdfast_touch_v6($1, $2)', [hex(line), a.id])
      expect(answer).not.toEqual([null])
      // By what is committed, its time is over.
      await isTrue(observer, `SELECT (${leftUs}) <= 0`)
      const entering = driver.enter(b, true)
      await someoneWaits(observer)
      await slowly('COMMIT')
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
      `SELECT solo_lapse <= public.holdfast_now_v6() FROM public.holdfast_line WHERE name = '\\x${hex(line)}'`,
    )
    await slowly('BEGIN')
    const [[answer] = []] = await slowly(enterSql, enterArgs(b))
    expect(String(answer)).toMatch(/^\d+,0,/)
    const touching = driver.touch([a])
    await someoneWaits(observer)
    await slowly('COMMIT')
    expect(await touching).toEqual([null])
  })
})

describe('many lines in one statement', () => {
  test('two processes that renew the same lines in opposite order do not deadlock', async () => {
    const lines = Array.from({ length: 60 }, (_, i) => `crowd ${i}`)
    const [mine, theirs] = [lines.map((line) => entry(line)), lines.map((line) => entry(line))]
    for (const at of [...mine, ...theirs]) await driver.enter(at, true)
    const rounds = Array.from({ length: 30 }, async (_, i) => {
      const batch = i % 2 === 0 ? mine : theirs.toReversed()
      expect((await driver.touch(batch)).every((place) => place !== null)).toBe(true)
    })
    await Promise.all(rounds)
    const [[deadlocks] = []] = await slowly(
      'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()',
    )
    expect(deadlocks).toBe(0)
  })
})

async function isTrue(client: Client, sql: string): Promise<void> {
  const end = performance.now() + 30_000
  while (performance.now() < end) {
    const { rows } = await client.query({ text: sql, rowMode: 'array' })
    if (rows[0]?.[0] === true) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error(`not true: ${sql}`)
}
