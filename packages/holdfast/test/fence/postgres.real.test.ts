import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { StaleTokenError, StoreError, UsageError } from '../../src/contract/errors.ts'
import { type Proof, sqlGuard, TransactionConflictError } from '../../src/fence/index.ts'
import { holdfast } from '../../src/index.ts'
import { someoneWaits, usePostgres } from '../stores/postgres/server.ts'
import { pausedHolder } from './paused.ts'
import { openTarget, type Target } from './target.ts'
import { tellsTokensApart } from './tokens.ts'

const bench = usePostgres()
const guard = sqlGuard()
const proof = (token: bigint): Proof => ({ line: 'l', token, place: '0123456789abcdef' })

beforeAll(async () => {
  const db = await bench.connect()
  await db.query('CREATE TABLE stock (n int)')
  await db.query('INSERT INTO stock VALUES (0)')
  // At the same moment, as processes that start together do.
  const clients = await Promise.all(Array.from({ length: 4 }, () => bench.connect()))
  await Promise.all(clients.map((client) => guard.setup(client as never)))
  await using hf = await holdfast(bench.url)
  await hf.setup()
})

describe.each(['pg', 'postgres.js'] as const)('through %s', (kind) => {
  let target: Target
  beforeAll(async () => {
    target = await openTarget(kind, bench.url)
  })
  afterAll(() => target?.close())

  test('a paused holder is refused, and nothing is lost', async () => {
    const db = await bench.connect()
    await db.query('UPDATE stock SET n = 0')
    const outcome = await pausedHolder({ kind, target: bench.url, store: bench.url, ttlMs: 1_000 })
    expect(outcome).toMatchObject({ code: 'HF_STALE_TOKEN' })
  })

  test('tokens above 2^53 are told apart', () => tellsTokensApart(target.check, kind))
})

test('processes that start together all find the table made', async () => {
  const clients = await Promise.all(Array.from({ length: 6 }, () => bench.connect()))
  // One in five of such starts tripped over another's type, relation or catalogue entry.
  for (let i = 0; i < 60; i++) {
    const its = sqlGuard({ table: `together_${i}` })
    await Promise.all(clients.map((client) => its.setup(client as never)))
  }
})

describe('concurrent checks', () => {
  test.each(['COMMIT', 'ROLLBACK'])('an older one waits for a newer one: %s', async (end) => {
    const [a, b] = [await bench.connect(), await bench.connect()]
    const resource = `older waits ${end}`
    await b.query('BEGIN')
    await guard.check(b as never, resource, proof(6n))
    await a.query('BEGIN')
    const waiting = guard.check(a as never, resource, proof(5n))
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

  test('a newer one waits for an older one, then passes', async () => {
    const [a, b] = [await bench.connect(), await bench.connect()]
    await a.query('BEGIN')
    await guard.check(a as never, 'newer waits', proof(5n))
    await b.query('BEGIN')
    const waiting = guard.check(b as never, 'newer waits', proof(6n))
    await someoneWaits(await bench.connect())
    await a.query('COMMIT')
    await waiting
    await b.query('COMMIT')
    await a.query('BEGIN')
    await expect(guard.check(a as never, 'newer waits', proof(5n))).rejects.toBeInstanceOf(StaleTokenError)
    await a.query('ROLLBACK')
  })

  test.each(['REPEATABLE READ', 'SERIALIZABLE'])('at %s the loser is told to run again', async (level) => {
    const [a, b] = [await bench.connect(), await bench.connect()]
    await b.query('BEGIN')
    await guard.check(b as never, level, proof(6n))
    await a.query(`BEGIN ISOLATION LEVEL ${level}`)
    const waiting = guard.check(a as never, level, proof(7n)).catch((e: unknown) => e)
    await someoneWaits(await bench.connect())
    await b.query('COMMIT')
    const error = await waiting
    expect(error).toBeInstanceOf(TransactionConflictError)
    expect(error).toMatchObject({ code: 'HF_CONFLICT', line: 'l', cause: { code: '40001' } })
    await a.query('ROLLBACK')
    await a.query(`BEGIN ISOLATION LEVEL ${level}`)
    await guard.check(a as never, level, proof(7n))
    await a.query('COMMIT')
  })
})

test('is refused outside a transaction, without its table, and for what is no client', async () => {
  const client = await bench.connect()
  await expect(guard.check(client as never, 'x', proof(5n))).rejects.toThrow(/inside a transaction/)
  await expect(guard.check({} as never, 'x', proof(5n))).rejects.toBeInstanceOf(UsageError)
  await expect(guard.check(client as never, '', proof(5n))).rejects.toBeInstanceOf(UsageError)
  const other = sqlGuard({ table: 'no "such" $& table' })
  await client.query('BEGIN')
  const error = await other.check(client as never, 'x', proof(5n)).catch((e: unknown) => e)
  expect(error).toBeInstanceOf(StoreError)
  expect((error as Error).message).toMatch(/is missing: await guard\.setup/)
  await client.query('ROLLBACK')
  await other.setup(client as never)
  await client.query('BEGIN')
  await other.check(client as never, 'x', proof(5n))
  await other.forget(client as never, 'x')
  await other.check(client as never, 'x', proof(4n))
  await client.query('COMMIT')
})

test('the printed SQL makes the table', async () => {
  const client = await bench.connect()
  await client.query('CREATE SCHEMA s')
  const other = sqlGuard({ table: 's.fence' })
  await client.query(other.migration('postgres'))
  await client.query('BEGIN')
  await other.check(client as never, 'x', proof(5n))
  await client.query('COMMIT')
  const { rows } = await client.query({ text: 'SELECT token::text, place FROM s.fence', rowMode: 'array' })
  expect(rows).toEqual([['5', '0123456789abcdef']])
})
