import { createConnection, type Connection } from 'mysql2/promise'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { StoreError, UsageError } from '../../src/contract/errors.ts'
import { type Proof, sqlGuard, TransactionConflictError } from '../../src/fence/index.ts'
import { holdfast } from '../../src/index.ts'
import { someoneWaits, useMariadb } from '../stores/mysql/server.ts'
import { pausedHolder } from './paused.ts'
import { openTarget, type Target } from './target.ts'
import { tellsTokensApart } from './tokens.ts'

const bench = useMariadb()
const guard = sqlGuard()
const proof = (token: bigint): Proof => ({ line: 'l', token, place: '0123456789abcdef' })
let target: Target

/** A connection of mysql2 with the settings of a user who has read nothing about big numbers. */
async function connect(): Promise<Connection> {
  const connection = await createConnection({ uri: bench.url })
  connection.on('error', () => {})
  onTestFinished(() => connection.destroy())
  return connection
}

beforeAll(async () => {
  const connection = await createConnection({ uri: bench.url })
  await connection.query('CREATE TABLE stock (n INT)')
  await connection.query('INSERT INTO stock VALUES (0)')
  await guard.setup(connection)
  await guard.setup(connection)
  await connection.end()
  await using hf = await holdfast(bench.url)
  await hf.setup()
  target = await openTarget('mysql2', bench.url)
})
afterAll(() => target?.close())

test('a paused holder is refused, and nothing is lost', async () => {
  const outcome = await pausedHolder({ kind: 'mysql2', target: bench.url, store: bench.url, ttlMs: 1_000 })
  expect(outcome).toMatchObject({ code: 'HF_STALE_TOKEN' })
})

test('tokens above 2^53 are told apart', () => tellsTokensApart(target.check))

describe('concurrent checks', () => {
  test.each(['COMMIT', 'ROLLBACK'])('an older one waits for a newer one: %s', async (end) => {
    const [a, b] = [await connect(), await connect()]
    await b.query('BEGIN')
    await guard.check(b, `older waits ${end}`, proof(6n))
    await a.query('BEGIN')
    const waiting = guard.check(a, `older waits ${end}`, proof(5n))
    await someoneWaits(await bench.connect())
    // Looked at before it can end: it may be refused before the other hears that its commit is done.
    const outcome =
      end === 'COMMIT'
        ? expect(waiting).rejects.toMatchObject({ code: 'HF_STALE_TOKEN', given: 5n, newest: 6n })
        : waiting
    await b.query(end)
    await outcome
    await a.query('ROLLBACK')
  })

  test.each(['REPEATABLE READ', 'READ COMMITTED'])('at %s new resources do not deadlock', async (level) => {
    const connections = await Promise.all(Array.from({ length: 12 }, connect))
    const check = async (connection: Connection, i: number): Promise<void> => {
      await connection.query(`SET TRANSACTION ISOLATION LEVEL ${level}`)
      await connection.query('BEGIN')
      await guard.check(connection, `${level} ${i % 6}`, proof(BigInt(1 + i)))
      await connection.query('COMMIT')
    }
    const ends = await Promise.allSettled(connections.map(check))
    const codes = ends.flatMap((end) => (end.status === 'rejected' ? [(end.reason as { code: string }).code] : []))
    // An older one that came later is refused; no other error may come of it.
    expect(codes.filter((code) => code !== 'HF_STALE_TOKEN')).toEqual([])
    for (const [i, end] of ends.entries()) if (i >= 6) expect(end.status).toBe('fulfilled')
  })

  test('a lock that can not be had is told as a conflict', async () => {
    const [a, b] = [await connect(), await connect()]
    await b.query('BEGIN')
    await guard.check(b, 'long', proof(6n))
    await a.query('SET innodb_lock_wait_timeout = 1')
    await a.query('BEGIN')
    const error = await guard.check(a, 'long', proof(7n)).catch((e: unknown) => e)
    expect(error).toBeInstanceOf(TransactionConflictError)
    expect(error).toMatchObject({ code: 'HF_CONFLICT', cause: { errno: 1205 } })
    await a.query('ROLLBACK')
    await b.query('ROLLBACK')
  })
})

test('is refused outside a transaction, and without its table', async () => {
  const connection = await connect()
  await expect(guard.check(connection, 'x', proof(5n))).rejects.toThrow(/inside a transaction/)
  expect(() => sqlGuard({ table: 'a?' })).toThrow(UsageError)
  const other = sqlGuard({ table: 'no `such` $& table' })
  await connection.query('BEGIN')
  await expect(other.check(connection, 'x', proof(5n))).rejects.toBeInstanceOf(StoreError)
  await connection.query('ROLLBACK')
  await connection.query(other.migration('mysql'))
  await connection.query('BEGIN')
  await other.check(connection, 'x', proof(5n))
  await other.forget(connection, 'x')
  await other.check(connection, 'x', proof(4n))
  await connection.query('COMMIT')
})
