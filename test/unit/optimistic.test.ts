import Database from 'libsql'
import { expect, test } from 'vitest'
import { UsageError } from '../../src/core/errors.ts'
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
