/** A server, or a pool, that does not commit by itself: what Holdfast writes is committed, or refused. */
import { randomBytes } from 'node:crypto'
import { createPool as createCallbackPool } from 'mysql2'
import { createPool, type Pool } from 'mysql2/promise'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { UsageError } from '../../../src/contract/errors.ts'
import { mysql } from '../../../src/stores/mysql/index.ts'
import { type Holdfast, holdfast } from '../../../src/index.ts'
import { optimistic } from '../../../src/optimistic/index.ts'
import { isTrue, type Plain, useMariadb } from './server.ts'

const bench = useMariadb({ config: { autocommit: 0 } })
const open: { close(): Promise<unknown> }[] = []
let admin: Plain

beforeAll(async () => {
  const driver = mysql(bench.url)
  await driver.setup?.()
  await driver.close()
  admin = await bench.connect()
  await admin.ask('SET autocommit = 1')
  await admin.ask('CREATE TABLE stock (id INT PRIMARY KEY, n INT, version INT NOT NULL) ENGINE = InnoDB')
  await admin.ask('INSERT INTO stock VALUES (1, 5, 0)')
})
afterEach(async () => {
  for (const closing of open.splice(0).toReversed()) await closing.close()
})

const name = (): string => `commit ${randomBytes(6).toString('hex')}`

async function hold(store: Parameters<typeof mysql>[0]): Promise<Holdfast> {
  const hf = await holdfast(mysql(store))
  open.push(hf)
  return hf
}

/** The pool of a user; `settings` is what each connection is told when it is made, by its number. */
function pool(settings: (i: number) => string, connectionLimit = 4): Pool {
  const made = createCallbackPool({ uri: bench.url, connectionLimit })
  let count = 0
  made.on('connection', (connection) => {
    connection.query(settings(count++))
  })
  const promising = made.promise() as unknown as Pool
  open.push({ close: () => promising.end() })
  return promising
}

describe('a server with autocommit = 0', () => {
  test('by URL: who holds is seen, also on lines that were empty, and what is left is free', async () => {
    const [a, b] = [await hold(bench.url), await hold(bench.url)]
    const line = name()
    for (let i = 0; i < 3; i++) {
      const held = await a.mutex(line, { ttlMs: 60_000 }).acquire()
      expect(await b.mutex(line).tryAcquire()).toBeNull()
      expect(await held.release()).toBe(true)
      const next = await b.mutex(line, { ttlMs: 60_000 }).tryAcquire()
      expect(next).not.toBeNull()
      expect(await a.mutex(line).tryAcquire()).toBeNull()
      expect(await next?.release()).toBe(true)
    }
    const cell = a.cell(line)
    await cell.update(() => 'set')
    expect((await b.cell(line).read())?.value).toBe('set')
    await isTrue(admin, "SELECT COUNT(*) = 0 FROM information_schema.INNODB_TRX WHERE trx_state <> 'RUNNING'")
  })

  test.each(['promise', 'callback'])('a %s pool as it comes: refused, and nothing is written', async (kind) => {
    const given =
      kind === 'promise'
        ? createPool({ uri: bench.url, connectionLimit: 2 })
        : createCallbackPool({ uri: bench.url, connectionLimit: 2 })
    const hf = await hold(given as never)
    const line = name()
    const refused = hf.mutex(line).acquire()
    await expect(refused).rejects.toBeInstanceOf(UsageError)
    await expect(refused).rejects.toThrow(/autocommit = 1 on each connection/)
    await expect(hf.cell(line).read()).rejects.toBeInstanceOf(UsageError)
    const rows = await admin.ask('SELECT COUNT(*) FROM holdfast_line WHERE name = ?', [Buffer.from(line)])
    expect(Number(rows[0]?.[0])).toBe(0)
    const promising = ('promise' in given ? given.promise() : given) as unknown as Pool
    // It is the user's, and works as before.
    await promising.query('SELECT 1')
    await promising.end()
  })
})

describe("the user's own pool", () => {
  test('set to commit, it is as good as any', async () => {
    const [a, b] = [await hold(pool(() => 'SET autocommit = 1')), await hold(bench.url)]
    const line = name()
    for (let i = 0; i < 3; i++) {
      const held = await a.mutex(line, { ttlMs: 60_000 }).acquire()
      expect(await b.mutex(line).tryAcquire()).toBeNull()
      expect(await held.release()).toBe(true)
      await (await b.mutex(line).acquire()).release()
    }
  })

  test('one connection of it differs from the others: what comes by that one is refused', async () => {
    const hf = await hold(pool((i) => `SET autocommit = ${i === 0 ? 1 : 0}`, 2))
    await (await hf.mutex(name()).acquire()).release()
    // So many in one turn are two statements at once: each connection gets one.
    const both = await Promise.allSettled(Array.from({ length: 64 }, () => hf.mutex(name()).acquire()))
    const refused = both.filter((one) => one.status === 'rejected')
    expect(refused.length).toBeGreaterThan(0)
    for (const one of refused) expect(one.reason).toBeInstanceOf(UsageError)
    for (const one of both) if (one.status === 'fulfilled') expect(await one.value.release()).toBe(true)
  })

  test.each(['SET autocommit = 0', 'START TRANSACTION'])(
    'after it was found in order a connection is given back with %s: refused, and nobody holds',
    async (sql) => {
      const given = pool(() => 'SET autocommit = 1', 1)
      const [a, b] = [await hold(given), await hold(bench.url)]
      const line = name()
      await (await a.mutex(line).acquire()).release()
      const connection = await given.getConnection()
      await connection.query(sql)
      if (sql === 'START TRANSACTION') await connection.query('SELECT version FROM holdfast_meta')
      connection.release()
      await expect(a.mutex(line).acquire()).rejects.toThrow(/inside a transaction/)
      const held = await b.mutex(line).tryAcquire()
      expect(held).not.toBeNull()
      await held?.release()
    },
  )

  test('optimistic: a pool that does not commit is refused; a connection in its own transaction is not', async () => {
    const given = pool(() => 'SET autocommit = 0')
    const update = (db: unknown) =>
      optimistic(db as never).update<{ n: number }>('stock', { id: 1 }, (row) => ({ n: row.n - 1 }))
    await expect(update(given)).rejects.toBeInstanceOf(UsageError)
    const connection = await given.getConnection()
    await connection.query('ROLLBACK')
    expect(await update(connection)).toMatchObject({ n: 4 })
    await connection.query('COMMIT')
    connection.release()
    expect(await admin.ask('SELECT n FROM stock')).toEqual([[4]])
  })
})
