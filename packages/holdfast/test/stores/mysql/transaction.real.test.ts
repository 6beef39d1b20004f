/**
 * A lock inside the caller's transaction, at every isolation level and however it was set: it holds, or it is refused.
 */
import { randomBytes } from 'node:crypto'
import { type Connection, createConnection } from 'mysql2/promise'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AcquireTimeoutError, DeadlockError, StoreError, UsageError } from '../../../src/contract/errors.ts'
import { lockInTransaction, mysql } from '../../../src/stores/mysql/index.ts'
import { isTrue, type Plain, someoneWaits, useMariadb } from './server.ts'

const bench = useMariadb()
const open: Connection[] = []
let admin: Plain

beforeAll(async () => {
  const driver = mysql(bench.url)
  await driver.setup?.()
  await driver.close()
  admin = await bench.connect()
  await admin.ask('CREATE TABLE sale (seller VARCHAR(20), seat VARCHAR(40)) ENGINE = InnoDB')
})
afterAll(() => {
  for (const connection of open) connection.destroy()
})

async function connect(): Promise<Connection> {
  const connection = await createConnection(bench.url)
  // A connection that a test kills says so.
  connection.on('error', () => {})
  open.push(connection)
  return connection
}

const lock = (connection: Connection, name: string): Promise<void> => lockInTransaction(connection as never, name)
const name = (): string => `seat ${randomBytes(6).toString('hex')}`

/** Sells the only seat if nobody has, inside the lock: what a user would write. */
async function sell(one: Connection, seat: string): Promise<boolean> {
  try {
    await lock(one, seat)
    const [rows] = await one.query('SELECT seller FROM sale WHERE seat = ?', [seat])
    if ((rows as unknown[]).length > 0) return false
    await one.query("INSERT INTO sale VALUES ('me', ?)", [seat])
    return true
  } finally {
    await one.query('COMMIT')
  }
}

/** How a transaction gets its level. */
const WAYS: Record<string, (level: string) => readonly string[]> = {
  'SET TRANSACTION': (level) => [`SET TRANSACTION ISOLATION LEVEL ${level}`, 'START TRANSACTION'],
  'the session': (level) => [`SET SESSION TRANSACTION ISOLATION LEVEL ${level}`, 'START TRANSACTION'],
  'autocommit = 0': (level) => [`SET SESSION TRANSACTION ISOLATION LEVEL ${level}`, 'SET autocommit = 0'],
}
const LEVELS = ['READ UNCOMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE']

describe('two sellers and one seat', () => {
  /** Both have begun before either is served; `first` is what each says before it locks. */
  async function race(begin: readonly string[], first: string | null): Promise<PromiseSettledResult<boolean>[]> {
    const seat = name()
    const sellers = [await connect(), await connect()]
    const keeper = await connect()
    await keeper.query('START TRANSACTION')
    await lock(keeper, seat)
    for (const one of sellers) {
      for (const sql of begin) await one.query(sql)
      if (first !== null) await one.query(first)
    }
    const selling = Promise.allSettled(sellers.map((one) => sell(one, seat)))
    await someoneWaits(admin)
    await keeper.query('ROLLBACK')
    const outcomes = await selling
    const sold = await admin.ask('SELECT COUNT(*) FROM sale WHERE seat = ?', [seat])
    expect(Number(sold[0]?.[0]), 'one seat').toBeLessThanOrEqual(1)
    expect(Number(sold[0]?.[0])).toBe(outcomes.filter((one) => one.status === 'fulfilled' && one.value).length)
    return outcomes
  }

  test.each(Object.keys(WAYS))('the lock comes first, the level is set by %s: one sale at every level', async (way) => {
    for (const level of LEVELS) {
      const outcomes = await race((WAYS[way] as (level: string) => string[])(level), null)
      expect(
        outcomes.map((one) => one.status),
        level,
      ).toEqual(['fulfilled', 'fulfilled'])
    }
  })

  test.each(Object.keys(WAYS))(
    'they read before they lock, the level is set by %s: one sale, or refused',
    async (way) => {
      for (const level of LEVELS) {
        const outcomes = await race(
          (WAYS[way] as (level: string) => string[])(level),
          'SELECT version FROM holdfast_meta',
        )
        const refused = outcomes.filter((one) => one.status === 'rejected')
        expect(refused, level).toHaveLength(level === 'REPEATABLE READ' ? 1 : 0)
        for (const one of refused) {
          expect(one.reason).toBeInstanceOf(UsageError)
          expect(String(one.reason)).toMatch(/before the first SELECT.*READ COMMITTED/)
        }
      }
    },
  )

  test('the default level of the server, a snapshot from the start, and somebody who only rolled back', async () => {
    const before = await race(['START TRANSACTION'], 'SELECT COUNT(*) FROM sale')
    expect(before.filter((one) => one.status === 'rejected')).toHaveLength(1)
    const snapshot = await race(['START TRANSACTION WITH CONSISTENT SNAPSHOT'], null)
    expect(snapshot.filter((one) => one.status === 'rejected')).toHaveLength(1)
    await admin.ask("SET GLOBAL transaction_isolation = 'READ-COMMITTED'").catch(() => [])
    await admin.ask("SET GLOBAL tx_isolation = 'READ-COMMITTED'").catch(() => [])
    try {
      const after = await race(['START TRANSACTION'], 'SELECT COUNT(*) FROM sale')
      expect(after.map((one) => one.status)).toEqual(['fulfilled', 'fulfilled'])
    } finally {
      await admin.ask('SET GLOBAL TRANSACTION ISOLATION LEVEL REPEATABLE READ')
    }
  })
})

describe('a name that nobody has locked before', () => {
  test.each(['rolls back', 'dies'])('its first holder %s: all who wait are served, one after another', async (how) => {
    for (let round = 0; round < 5; round++) {
      const seat = name()
      const first = await connect()
      await first.query('START TRANSACTION')
      await lock(first, seat)
      let inside = 0
      const visit = async (): Promise<void> => {
        const one = await connect()
        await one.query('START TRANSACTION')
        await lock(one, seat)
        expect(++inside).toBe(1)
        await one.query('SELECT 1')
        inside--
        await one.query('ROLLBACK')
        one.destroy()
      }
      const visits = Promise.all(Array.from({ length: 8 }, visit))
      await isTrue(admin, 'SELECT COUNT(*) >= 8 FROM information_schema.INNODB_TRX WHERE trx_state = "LOCK WAIT"')
      if (how === 'rolls back') await first.query('ROLLBACK')
      else await admin.ask(`KILL CONNECTION ${String(first.threadId)}`)
      await visits
    }
  })

  test('names that were locked leave nothing behind', async () => {
    const size = 'SELECT COUNT(*) FROM holdfast_slot'
    const before = await admin.ask(size)
    const one = await connect()
    for (let i = 0; i < 300; i++) {
      await one.query('START TRANSACTION')
      await lock(one, name())
      await one.query(i % 2 === 0 ? 'COMMIT' : 'ROLLBACK')
    }
    expect(await admin.ask(size)).toEqual(before)
    const tables = await admin.ask("SHOW TABLES LIKE 'holdfast_tx'")
    expect(tables).toEqual([])
  })
})

describe('errors are typed', () => {
  test('waiting too long, a deadlock, no transaction', async () => {
    const [a, b] = [await connect(), await connect()]
    const [one, two] = [name(), name()]
    await a.query('START TRANSACTION')
    await b.query('START TRANSACTION')
    await lock(a, one)
    await lock(b, two)
    await b.query('SET SESSION innodb_lock_wait_timeout = 1')
    await expect(lock(b, one)).rejects.toBeInstanceOf(AcquireTimeoutError)
    await b.query('SET SESSION innodb_lock_wait_timeout = 50')
    const waiting = lock(b, one).then(
      () => 'served',
      (error: unknown) => error,
    )
    await someoneWaits(admin)
    const other = await lock(a, two).then(
      () => 'served',
      (error: unknown) => error,
    )
    await a.query('ROLLBACK')
    const outcomes = [await waiting, other]
    expect(outcomes.filter((outcome) => outcome === 'served')).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome instanceof DeadlockError)).toHaveLength(1)
    await b.query('ROLLBACK')
    await expect(lock(a, one)).rejects.toBeInstanceOf(UsageError)
  })

  test('no tables: what to run', async () => {
    const one = await connect()
    await one.query('START TRANSACTION')
    const refused = lockInTransaction(one as never, 'x', { prefix: 'nowhere' })
    await expect(refused).rejects.toBeInstanceOf(StoreError)
    await expect(refused).rejects.toThrow(/holdfast migrate.*setup\(\)/)
    await one.query('ROLLBACK')
  })
})
