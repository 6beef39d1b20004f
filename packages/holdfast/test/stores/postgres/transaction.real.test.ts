/**
 * A lock inside the caller's transaction, at every isolation level and however it was set: it holds, or it is refused.
 */
import { Client } from 'pg'
import postgresJs from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AcquireTimeoutError, DeadlockError, UsageError } from '../../../src/contract/errors.ts'
import { lockInTransaction } from '../../../src/stores/postgres/index.ts'
import { someoneWaits, usePostgres } from './server.ts'

/** One connection in the hands of a seller, through either package. */
interface Seller {
  ask(sql: string): Promise<unknown[]>
  lock(name: string): Promise<void>
  end(): Promise<void>
}

const bench = usePostgres()
let admin: Client

beforeAll(async () => {
  admin = await bench.connect()
  await admin.query('CREATE TABLE sale (seller text)')
})
afterAll(() => admin.query('ALTER SYSTEM RESET default_transaction_isolation').catch(() => undefined))

type Package = 'pg' | 'postgres.js'

async function seller(through: Package): Promise<Seller> {
  if (through === 'pg') {
    const client = new Client({ connectionString: bench.url })
    await client.connect()
    return {
      ask: async (sql) => (await client.query(sql)).rows,
      lock: (name) => lockInTransaction(client as never, name),
      end: () => client.end(),
    }
  }
  // One connection: what is sent with `unsafe` is then all in one session, and its transaction.
  const sql = postgresJs(bench.url, { max: 1, onnotice: () => {} })
  return {
    ask: async (text) => [...(await sql.unsafe(text))],
    lock: (name) => lockInTransaction(sql as never, name),
    end: () => sql.end(),
  }
}

/** Sells the only seat if nobody has, inside the lock: what a user would write. */
async function sell(one: Seller, begin: readonly string[]): Promise<boolean> {
  for (const sql of begin) await one.ask(sql)
  try {
    await one.lock('seat:1')
    if ((await one.ask('SELECT seller FROM sale')).length > 0) return false
    await one.ask("INSERT INTO sale VALUES ('me')")
    return true
  } finally {
    await one.ask('COMMIT')
  }
}

/** How a transaction gets its level. */
const WAYS: Record<string, (level: string) => readonly string[]> = {
  'BEGIN ISOLATION LEVEL': (level) => [`BEGIN ISOLATION LEVEL ${level}`],
  'SET TRANSACTION': (level) => ['BEGIN', `SET TRANSACTION ISOLATION LEVEL ${level}`],
  'the session': (level) => [`SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL ${level}`, 'BEGIN'],
}

describe.each(['pg', 'postgres.js'] as const)('lockInTransaction through %s', (through) => {
  test.each(Object.keys(WAYS))('two sellers and one seat, the level set by %s: one sale, or none', async (way) => {
    for (const level of ['READ UNCOMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE']) {
      await admin.query('DELETE FROM sale')
      const sellers = [await seller(through), await seller(through)]
      // Somebody has the lock, so that both have begun, and their snapshots with them, before either is served.
      const first = await bench.connect()
      await first.query('BEGIN')
      await lockInTransaction(first as never, 'seat:1')
      const selling = sellers.map((one) => sell(one, (WAYS[way] as (level: string) => string[])(level)))
      const outcomes = Promise.allSettled(selling)
      const isServed = level.startsWith('READ')
      await Promise.race([outcomes, someoneWaits(admin)])
      await first.query('COMMIT')
      const settled = await outcomes
      const { rows } = await admin.query('SELECT 1 FROM sale')
      expect(rows, `${level} by ${way}`).toHaveLength(isServed ? 1 : 0)
      for (const one of settled) {
        if (isServed) expect(one.status).toBe('fulfilled')
        else expect(one).toMatchObject({ reason: { code: 'HF_USAGE', message: expect.stringContaining(level) } })
      }
      for (const one of sellers) await one.end()
    }
  })

  test('the level of the server, and of the database: refused, and the error says what to do', async () => {
    for (const [set, reset] of [
      [
        "ALTER DATABASE postgres SET default_transaction_isolation = 'serializable'",
        'ALTER DATABASE postgres RESET default_transaction_isolation',
      ],
      [
        "ALTER SYSTEM SET default_transaction_isolation = 'repeatable read'",
        'ALTER SYSTEM RESET default_transaction_isolation',
      ],
    ] as const) {
      await admin.query(set)
      await admin.query('SELECT pg_reload_conf()')
      try {
        const one = await seller(through)
        await expect
          .poll(() => one.ask('SHOW default_transaction_isolation'))
          .not.toEqual([{ default_transaction_isolation: 'read committed' }])
        await one.ask('BEGIN')
        await expect(one.lock('seat:1')).rejects.toThrow(/BEGIN ISOLATION LEVEL READ COMMITTED/)
        // The transaction is the caller's, and is still good for what it says.
        expect(await one.ask('SELECT 1 AS one')).toEqual([{ one: 1 }])
        await one.ask('ROLLBACK')
        await one.ask('BEGIN ISOLATION LEVEL READ COMMITTED')
        await one.lock('seat:1')
        await one.ask('COMMIT')
        await one.end()
      } finally {
        await admin.query(reset)
        await admin.query('SELECT pg_reload_conf()')
      }
    }
  })

  test('waiting too long, a deadlock, and no transaction: typed', async () => {
    const [a, b] = [await seller(through), await seller(through)]
    await a.ask('BEGIN')
    await b.ask('BEGIN')
    await a.lock('one')
    await b.lock('two')
    await b.ask("SET LOCAL lock_timeout = '50ms'")
    await expect(b.lock('one')).rejects.toBeInstanceOf(AcquireTimeoutError)
    await b.ask('ROLLBACK')
    await b.ask('BEGIN')
    await b.ask("SET LOCAL deadlock_timeout = '60s'")
    await b.lock('two')
    const waiting = b.lock('one')
    await someoneWaits(admin)
    await a.ask("SET LOCAL deadlock_timeout = '10ms'")
    await expect(a.lock('two')).rejects.toBeInstanceOf(DeadlockError)
    await a.ask('ROLLBACK')
    await waiting
    await b.ask('COMMIT')
    await expect(a.lock('one')).rejects.toBeInstanceOf(UsageError)
    await a.end()
    await b.end()
  })
})
