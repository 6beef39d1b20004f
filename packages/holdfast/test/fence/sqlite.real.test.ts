import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { StaleTokenError, StoreError, UsageError } from '../../src/contract/errors.ts'
import { type Proof, sqlGuard, TransactionConflictError } from '../../src/fence/index.ts'
import { pausedHolder } from './paused.ts'
import { type Libsql, openLibsql } from './sql-targets.ts'
import { openTarget, type Target } from './target.ts'
import { tellsTokensApart } from './tokens.ts'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-fence-'))
const path = join(folder, 'stock.db')
const guard = sqlGuard()
const proof = (token: bigint): Proof => ({ line: 'l', token, place: '0123456789abcdef' })
let target: Target
let db: Libsql

beforeAll(async () => {
  db = await openLibsql(path)
  db.exec('CREATE TABLE stock (n INTEGER)')
  db.exec('INSERT INTO stock VALUES (0)')
  await guard.setup(db)
  target = await openTarget('libsql', path)
})
afterAll(async () => {
  await target?.close()
  db?.close()
  rmSync(folder, { recursive: true, force: true })
})

test('a paused holder is refused, and nothing is lost', async () => {
  const store = `sqlite:${join(folder, 'locks.db')}`
  const outcome = await pausedHolder({ kind: 'libsql', target: path, store, ttlMs: 1_000 })
  expect(outcome).toMatchObject({ code: 'HF_STALE_TOKEN' })
})

test('tokens above 2^53 are told apart', () => tellsTokensApart(target.check))

describe('a client that does not say whether it is in a transaction', () => {
  // As node:sqlite does not in older versions.
  const bare = { prepare: (sql: string) => db.prepare(sql) }

  test('is asked, and may be in one', async () => {
    db.exec('BEGIN')
    guard.checkSync(bare, 'bare', proof(5n))
    db.exec('COMMIT')
    db.exec('BEGIN')
    expect(() => guard.checkSync(bare, 'bare', proof(4n))).toThrow(StaleTokenError)
    db.exec('ROLLBACK')
    await tellsTokensApart(async (resource, given) => {
      db.exec('BEGIN')
      try {
        guard.checkSync(bare, resource, given)
      } finally {
        db.exec('COMMIT')
      }
    }, 'bare')
  })

  test('or in none, which is refused and leaves none behind', async () => {
    await expect(guard.check(bare, 'bare', proof(9n))).rejects.toBeInstanceOf(UsageError)
    expect(db.inTransaction).toBe(false)
    expect(() => guard.checkSync(db, 'bare', proof(9n))).toThrow(/inside a transaction/)
  })
})

test('another connection that writes is a conflict, and so is a snapshot that is out of date', async () => {
  const other = await openLibsql(path)
  other.exec('PRAGMA busy_timeout = 0')
  const conflict = (): unknown => {
    try {
      guard.checkSync(other, 'busy', proof(7n))
      return null
    } catch (error) {
      return error
    }
  }
  db.exec('BEGIN')
  guard.checkSync(db, 'busy', proof(6n))
  other.exec('BEGIN')
  expect(conflict()).toBeInstanceOf(TransactionConflictError)
  other.exec('ROLLBACK')
  // It has read before the check: what it read is older than what it would write over.
  other.exec('BEGIN')
  other.prepare('SELECT n FROM stock').all()
  db.exec('COMMIT')
  expect(conflict()).toMatchObject({ code: 'HF_CONFLICT', line: 'l' })
  other.exec('ROLLBACK')
  other.close()
})

test('is refused without its table, and forgets what it is told to', async () => {
  const other = sqlGuard({ table: 'no "such" $& table' })
  db.exec('BEGIN')
  await expect(other.check(db, 'x', proof(5n))).rejects.toBeInstanceOf(StoreError)
  db.exec('ROLLBACK')
  db.exec(other.migration('sqlite'))
  db.exec('BEGIN')
  await other.check(db, 'x', proof(5n))
  await other.forget(db, 'x')
  await other.check(db, 'x', proof(4n))
  db.exec('COMMIT')
})
