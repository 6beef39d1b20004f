import Database from 'libsql'
import { expect, test } from 'vitest'
import { UsageError } from '../../src/contract/errors.ts'
import { optimistic, type SqliteDatabase } from '../../src/optimistic/index.ts'

test('SQLite: writers that interleave lose no update', async () => {
  const db = new Database(':memory:') as unknown as SqliteDatabase & { exec(sql: string): void; close(): void }
  db.exec(
    'CREATE TABLE stock (id INTEGER PRIMARY KEY, n INTEGER, rev INTEGER NOT NULL); INSERT INTO stock VALUES (42, 0, 0)',
  )
  const stock = optimistic(db, { versionColumn: 'rev' })
  const writer = async (): Promise<void> => {
    for (let i = 0; i < 10; i++) {
      await stock.update<{ n: number }>('stock', { id: 42 }, async ({ n }) => {
        await new Promise((resolve) => setImmediate(resolve))
        return { n: n + 1 }
      })
    }
  }
  await Promise.all(Array.from({ length: 8 }, writer))
  expect(await stock.update('stock', { id: 42 }, () => null)).toMatchObject({ n: 80, rev: 80 })
  db.close()
})

test('what is no database is refused', () => {
  expect(() => optimistic({} as never)).toThrow(UsageError)
  expect(() => optimistic(null as never)).toThrow(UsageError)
})

test('SQLite: a key of several columns with odd names names one row, and only that one is written', async () => {
  const db = new Database(':memory:') as unknown as SqliteDatabase & { exec(sql: string): void; close(): void }
  db.exec('CREATE TABLE "per ""shop" ("shop.id" INTEGER, "s""ku" TEXT, n INTEGER, version INTEGER NOT NULL)')
  db.exec(`INSERT INTO "per ""shop" VALUES (1, 'a', 5, 0), (1, 'b', 5, 0), (2, 'a', 5, 0)`)
  const stock = optimistic(db)
  const take = ({ n }: { n: number }): { n: number } => ({ n: n - 1 })
  const key = { 'shop.id': 1, 's"ku': 'a' }
  expect(await stock.update<{ n: number }>('main.per "shop', key, take)).toEqual({ ...key, n: 4, version: 1 })
  const rows = db.prepare('SELECT n FROM "per ""shop" ORDER BY "shop.id", "s""ku"').all() as { n: number }[]
  expect(rows.map(({ n }) => n)).toEqual([4, 5, 5])
  await expect(stock.update('per "shop', { 'shop.id': 1 }, take as never)).rejects.toBeInstanceOf(UsageError)
  db.close()
})
