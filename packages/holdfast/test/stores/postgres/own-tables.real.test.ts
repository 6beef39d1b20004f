/** Locks inside the caller's transaction, and the optimistic version on the caller's own table. */
import { Pool } from 'pg'
import postgresJs from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AcquireTimeoutError, UsageError } from '../../../src/contract/errors.ts'
import { lockInTransaction } from '../../../src/stores/postgres/index.ts'
import { optimistic, type PgDatabase } from '../../../src/optimistic/index.ts'
import { someoneWaits, usePostgres } from './server.ts'

const bench = usePostgres()
let pool: Pool & PgDatabase

beforeAll(async () => {
  pool = new Pool({ connectionString: bench.url }) as Pool & PgDatabase
  pool.on('error', () => {})
  await pool.query(`CREATE TABLE "odd ""name" (id int PRIMARY KEY, "left" int, version bigint NOT NULL DEFAULT 0)`, [])
  await pool.query('INSERT INTO "odd ""name" VALUES (42, 1000, 9007199254740993)', [])
})
afterAll(() => pool?.end())

describe('lockInTransaction', () => {
  test('holds until the transaction ends, and the next sees what it committed', async () => {
    const [a, b] = [await bench.connect(), await bench.connect()]
    await a.query('BEGIN')
    await lockInTransaction(a as never, 'stock:42')
    await a.query('UPDATE "odd ""name" SET "left" = 7 WHERE id = 42')
    await b.query('BEGIN')
    const locking = lockInTransaction(b as never, 'stock:42')
    await someoneWaits(await bench.connect())
    await a.query('COMMIT')
    await locking
    const { rows } = await b.query({ text: 'SELECT "left" FROM "odd ""name" WHERE id = 42', rowMode: 'array' })
    expect(rows).toEqual([[7]])
    await lockInTransaction(a as never, 'other').catch(() => {})
    await b.query('ROLLBACK')
    await b.query('BEGIN')
    await lockInTransaction(b as never, 'stock:42')
    await b.query('COMMIT')
  })

  test('is refused outside a transaction, and for what is not a name', async () => {
    const client = await bench.connect()
    await expect(lockInTransaction(client as never, 'stock:42')).rejects.toBeInstanceOf(UsageError)
    await expect(lockInTransaction(client as never, '')).rejects.toBeInstanceOf(UsageError)
  })

  test('through postgres.js', async () => {
    const sql = postgresJs(bench.url, { onnotice: () => {} })
    await sql.begin(async (tx) => {
      await lockInTransaction(tx as never, 'stock:42')
      const rows = await tx`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted`
      expect(rows).toHaveLength(1)
    })
    await sql.end()
  })
})

describe('optimistic', () => {
  test.each(['pg', 'postgres.js'])('through %s: 16 writers lose no update, above 2^53 as well', async (client) => {
    const sql = postgresJs(bench.url, { onnotice: () => {} })
    await pool.query('UPDATE "odd ""name" SET "left" = 0 WHERE id = 42', [])
    const before = await version()
    const stock = optimistic((client === 'pg' ? pool : sql) as never)
    const writer = async (): Promise<void> => {
      for (let i = 0; i < 10; i++) {
        await stock.update<{ left: number }>('odd "name', { id: 42 }, (row) => ({ left: row.left + 1 }), {
          waitMs: 60_000,
        })
      }
    }
    await Promise.all(Array.from({ length: 16 }, writer))
    const { rows } = await pool.query('SELECT "left" FROM "odd ""name"', [])
    expect(rows).toEqual([{ left: 160 }])
    expect((await version()) - before).toBe(160n)
    await sql.end()
  })

  test('a key of several columns with odd names names one row, and only that one is written', async () => {
    await pool.query(
      `CREATE TABLE "per ""shop" ("shop.id" int, "s""ku" text, "left" int, "re vision" bigint NOT NULL, PRIMARY ` +
        `KEY ("shop.id", "s""ku"))`,
      [],
    )
    await pool.query(`INSERT INTO "per ""shop" VALUES (1, 'a', 5, 0), (1, 'b', 5, 0), (2, 'a', 5, 0)`, [])
    const stock = optimistic(pool, { versionColumn: 're vision' })
    const take = (row: { left: number }): { left: number } => ({ left: row.left - 1 })
    const key = { 'shop.id': 1, 's"ku': 'a' }
    const written = await stock.update<{ left: number }>('public.per "shop', key, take)
    expect(written).toMatchObject({ ...key, left: 4, 're vision': '1' })
    const { rows } = await pool.query('SELECT "left" FROM "per ""shop" ORDER BY "shop.id", "s""ku"', [])
    expect(rows).toEqual([{ left: 4 }, { left: 5 }, { left: 5 }])
    await expect(stock.update('per "shop', { 'shop.id': 1 }, take as never)).rejects.toThrow(/must name one row/)
    await expect(stock.update('per "shop', { ...key, 'x" OR 1=1 --': 1 }, take as never)).rejects.toThrow(
      /does not exist/,
    )
  })

  test('no such row, no change, a deadline, and what is refused', async () => {
    const stock = optimistic(pool)
    const name = 'odd "name'
    expect(await stock.update(name, { id: 1 }, () => ({ left: 1 }))).toBeNull()
    const same = await stock.update(name, { id: 42 }, () => null)
    expect(same?.version).toBe(String(await version()))
    const losing = stock.update(
      name,
      { id: 42 },
      async () => {
        await pool.query('UPDATE "odd ""name" SET version = version + 1', [])
        return { left: 1 }
      },
      { waitMs: 30 },
    )
    await expect(losing).rejects.toBeInstanceOf(AcquireTimeoutError)
    await expect(stock.update(name, {}, () => null)).rejects.toBeInstanceOf(UsageError)
    await expect(stock.update(name, { id: 42 }, () => ({ version: 1 }))).rejects.toBeInstanceOf(UsageError)
    await expect(stock.update('stock"; DROP TABLE x; --', { id: 42 }, () => null)).rejects.toThrow(/does not exist/)
    const aborted = AbortSignal.abort(new Error('enough'))
    await expect(stock.update(name, { id: 42 }, () => null, { signal: aborted })).rejects.toThrow('enough')
  })
})

async function version(): Promise<bigint> {
  const { rows } = await pool.query('SELECT version FROM "odd ""name" WHERE id = 42', [])
  return BigInt((rows[0] as unknown as { version: string }).version)
}
