/** What goes wrong with a real server: connections killed, restarts, refusals, limits, lost deadlocks. */
import { randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import { createPool } from 'mysql2/promise'
import { createPool as createCallbackPool } from 'mysql2'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { StoreError, StoreUnreachableError } from '../../../src/contract/errors.ts'
import type { Driver, Entry } from '../../../src/contract/driver.ts'
import { mysql, type MysqlOptions } from '../../../src/stores/mysql/index.ts'
import { type Holdfast, holdfast } from '../../../src/index.ts'
import { isTrue, type Plain, someoneWaits, useMariadb, wordsOf } from './server.ts'

const bench = useMariadb()
const open: { close(): Promise<unknown> }[] = []
let admin: Plain

beforeAll(async () => {
  admin = await bench.connect()
  const driver = mysql(bench.url)
  await driver.setup?.()
  await driver.close()
  await admin.ask("CREATE USER guest@'127.0.0.1'")
})

afterEach(async () => {
  for (const closing of open.splice(0).toReversed()) await closing.close()
})

const name = (): string => `fault ${randomBytes(6).toString('hex')}`
const guest = (): string => bench.url.replace('root@', 'guest@')

async function hold(options: MysqlOptions = {}, url: string = bench.url): Promise<Holdfast> {
  const hf = await holdfast(mysql(url, options))
  open.push(hf)
  return hf
}

function raw(store: Parameters<typeof mysql>[0], options: MysqlOptions = {}): Driver {
  const driver = mysql(store, options)
  open.push(driver)
  return driver
}

const entry = (line: string, ttlMs = 20_000): Entry => ({
  line,
  id: randomBytes(16).toString('hex'),
  weight: 1,
  capacity: 1,
  ttlMs,
  data: '{}',
})

async function killAll(how: 'CONNECTION' | 'QUERY'): Promise<void> {
  const ids = await admin.ask(
    'SELECT id FROM information_schema.PROCESSLIST WHERE id <> CONNECTION_ID() AND user IN ("root", "guest")',
  )
  for (const [id] of ids) await admin.ask(`KILL ${how} ${String(id)}`).catch(() => [])
}

test('a server that stands still: all calls are told, however many wait for a connection', async () => {
  const driver = raw(bench.url, { connections: 1, timeoutMs: 1_000 })
  const lines = Array.from({ length: 60 }, name)
  await driver.swap(name(), null)
  bench.server.pause()
  const began = performance.now()
  const told = Promise.allSettled(lines.map((line) => driver.swap(line, null)))
  try {
    for (const one of await told) {
      expect(one.status === 'rejected' && one.reason).toBeInstanceOf(StoreUnreachableError)
    }
  } finally {
    bench.server.resume()
  }
  // One after another they were told within a minute.
  expect(performance.now() - began).toBeLessThan(20_000)
  expect(await driver.enter(entry(name()), true)).toMatchObject({ ahead: 0 })
})

describe('connections that break', () => {
  test('connections killed by an administrator: holds stay, waiters are served', async () => {
    const [a, b] = [await hold(), await hold()]
    const line = name()
    const held = await a.mutex(line).acquire()
    const waiting = b.mutex(line).acquire()
    for (let i = 0; i < 3; i++) await killAll('CONNECTION')
    held.assertHeld()
    expect(await held.release()).toBe(true)
    const next = await waiting
    expect(next.token).toBeGreaterThan(held.token)
    await next.release()
  })

  test('a statement killed while it waits leaves no transaction open behind it', async () => {
    const hf = await hold({ connections: 1 })
    const line = name()
    await (await hf.mutex(line).acquire()).release()
    const blocker = await bench.connect()
    await blocker.ask('START TRANSACTION')
    await blocker.ask('SELECT last FROM holdfast_line WHERE name = ? FOR UPDATE', [Buffer.from(line)])
    const waiting = hf.mutex(line).acquire()
    await someoneWaits(admin)
    await killAll('QUERY')
    await blocker.ask('COMMIT')
    await (await waiting).release()
    await isTrue(admin, 'SELECT COUNT(*) = 0 FROM information_schema.INNODB_TRX')
  })

  test('a restart of the server while held: the hold is kept, and tokens rise', async () => {
    const hf = await hold()
    const line = name()
    const held = await hf.mutex(line, { ttlMs: 60_000 }).acquire()
    await bench.server.restart({ keepData: true })
    held.assertHeld()
    admin = await bench.connect()
    expect(await (await hold()).mutex(line).tryAcquire()).toBeNull()
    expect(await held.release()).toBe(true)
    const next = await hf.mutex(line).acquire()
    expect(next.token).toBeGreaterThan(held.token)
    await next.release()
  })
})

describe('victims', () => {
  test("a deadlock's victim is sent again", async () => {
    const driver = raw(bench.url)
    const [first, second] = [`a ${name()}`, `b ${name()}`].map((line) => entry(line)) as [Entry, Entry]
    for (const held of [first, second]) await driver.enter(held, true)
    const other = await bench.connect()
    const lock = (line: string) =>
      other.ask('SELECT last FROM holdfast_line WHERE name = ? FOR UPDATE', [Buffer.from(line)])
    await other.ask('CREATE TABLE weight (n INT) ENGINE = InnoDB')
    await other.ask('START TRANSACTION')
    // Who has changed less is the victim.
    await other.ask(
      'INSERT INTO weight WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) SELECT ' +
        'i FROM n',
    )
    await lock(second.line)
    const touching = driver.touch([first, second])
    await someoneWaits(admin)
    await lock(first.line)
    await other.ask('COMMIT')
    for (const place of await touching) expect(place).not.toBeNull()
  })

  test('a statement timeout is an outage that passes', async () => {
    const line = name()
    const first = await hold()
    await (await first.mutex(line).acquire()).release()
    const blocker = await bench.connect()
    await blocker.ask('START TRANSACTION')
    await blocker.ask('SELECT last FROM holdfast_line WHERE name = ? FOR UPDATE', [Buffer.from(line)])
    const { limit, second, cutsWrites, exceeded } = await wordsOf(admin)
    await admin.ask(`SET GLOBAL ${limit} = ${second / 20}`)
    try {
      const waiting = (await hold()).mutex(line).acquire()
      await someoneWaits(admin)
      if (cutsWrites) await isTrue(admin, `SELECT (${exceeded}) > 0`)
      await blocker.ask('COMMIT')
      await (await waiting).release()
    } finally {
      await admin.ask(`SET GLOBAL ${limit} = 0`)
    }
  })
})

describe('refusals', () => {
  test('no tables, older and newer tables: what to run', async () => {
    const driver = raw(bench.url, { prefix: 'other' })
    await expect(driver.enter(entry(name()), true)).rejects.toThrow(/no Holdfast tables.*holdfast migrate.*setup\(\)/)
    await driver.setup?.()
    await admin.ask('DROP PROCEDURE other_enter_v6')
    await admin.ask('UPDATE other_meta SET version = 0')
    await expect(driver.enter(entry(name()), true)).rejects.toThrow(/of version 0, version 6 is needed.*migrate/)
    await admin.ask('UPDATE other_meta SET version = 99')
    await expect(driver.enter(entry(name()), true)).rejects.toThrow(/version 99, newer/)
    await expect(driver.setup?.()).rejects.toThrow(StoreError)
    await admin.ask('UPDATE other_meta SET version = 0')
    await driver.setup?.()
    expect(await driver.enter(entry(name()), true)).not.toBeNull()
  })

  test('tables of version 1 are brought up to date, and those who still work with them go on', async () => {
    const driver = raw(bench.url, { prefix: 'grown' })
    await driver.setup?.()
    await admin.ask('DROP TABLE grown_bucket')
    await admin.ask('DROP PROCEDURE grown_take_v6')
    await admin.ask('CREATE PROCEDURE grown_leave_v1() SELECT 1')
    await admin.ask('UPDATE grown_meta SET version = 1')
    const limit = { cost: 1, burst: 3, unit: 1_000_000, drain: 1, shutAfter: 0, shutMs: 0 }
    await expect(driver.take?.('limit', limit)).rejects.toThrow(/of version 1, version 6 is needed.*migrate/)
    await driver.setup?.()
    expect(await driver.take?.('limit', limit)).toMatchObject({ taken: true })
    await admin.ask('CALL grown_leave_v1()')
  })

  test('several processes set up at once', async () => {
    const drivers = Array.from({ length: 5 }, () => raw(bench.url, { prefix: 'race' }))
    await Promise.all(drivers.map(async (driver) => driver.setup?.()))
    expect(await drivers[0]?.enter(entry(name()), true)).not.toBeNull()
  })

  test('a user without rights, and a server that takes no writes', async () => {
    await expect(raw(guest(), { prefix: 'guest' }).setup?.()).rejects.toThrow(/denied.*grant/i)
    await expect(raw(guest()).enter(entry(name()), true)).rejects.toThrow(/denied.*grant/i)
    await admin.ask("GRANT EXECUTE, SELECT, INSERT, UPDATE, DELETE ON test.* TO guest@'127.0.0.1'")
    expect(await raw(guest()).enter(entry(name()), true)).not.toBeNull()
    await admin.ask('SET GLOBAL read_only = ON')
    try {
      await expect(raw(guest()).enter(entry(name()), true)).rejects.toThrow(/read-only/)
    } finally {
      await admin.ask('SET GLOBAL read_only = OFF')
    }
  })

  test('no server there, a wrong database: typed, and without the password', async () => {
    const nobody = raw('mysql://user:secret@127.0.0.1:1/db', { timeoutMs: 500 })
    const silent = await nobody.enter(entry(name()), true).catch((error: unknown) => error)
    expect(silent).toBeInstanceOf(StoreUnreachableError)
    const wrong = await raw(bench.url.replace(/[^/]+$/, 'nosuch'))
      .enter(entry(name()), true)
      .catch((error: unknown) => error)
    expect(wrong).toBeInstanceOf(StoreError)
    expect(wrong).not.toBeInstanceOf(StoreUnreachableError)
    for (const error of [silent, wrong]) expect(inspect(error, { depth: 9 })).not.toContain('secret')
    await expect(holdfast(`${bench.url}?schema=a`)).rejects.toThrow(/no option "schema"/)
  })
})

describe('limits', () => {
  test.each(['promise', 'callback'])(
    "the user's own %s pool of one connection: 30 contenders do not block each other",
    async (kind) => {
      const pool =
        kind === 'promise'
          ? createPool({ uri: bench.url, connectionLimit: 1 })
          : createCallbackPool({ uri: bench.url, connectionLimit: 1 })
      const hf = await holdfast(mysql(pool as never))
      const line = name()
      let inside = 0
      const visit = async (): Promise<void> => {
        await hf.mutex(line).using(async () => {
          expect(++inside).toBe(1)
          await new Promise((resolve) => setImmediate(resolve))
          inside--
        })
      }
      await Promise.all(Array.from({ length: 30 }, visit))
      const held = await hf.mutex(line).acquire()
      // Rounding would show: the token is far above what a client reads as a number without being told.
      expect(held.token % 1024n).toBeGreaterThanOrEqual(0n)
      await held.release()
      await hf.close()
      const promising = 'promise' in pool ? pool.promise() : pool
      await promising.query('SELECT 1')
      await promising.end()
    },
  )

  test('connection limit reached: unreachable, and ridden out once there is room', async () => {
    await admin.ask("GRANT EXECUTE, SELECT, INSERT, UPDATE, DELETE ON test.* TO guest@'127.0.0.1'")
    await admin.ask("ALTER USER guest@'127.0.0.1' WITH MAX_USER_CONNECTIONS 1")
    const taken = await bench.connect(guest())
    const hf = await hold({}, guest())
    await expect(hf.mutex(name(), { ttlMs: 300 }).acquire()).rejects.toBeInstanceOf(StoreUnreachableError)
    const waiting = hf.mutex(name()).acquire()
    await admin.ask("ALTER USER guest@'127.0.0.1' WITH MAX_USER_CONNECTIONS 0")
    await (await waiting).release()
    await taken.ask('SELECT 1')
  })

  test('idle lines and lapsed cells are swept, and later tokens are still above', async () => {
    const driver = raw(bench.url)
    const [line, held] = [name(), entry(name())]
    const first = entry(line)
    const { token = 0n } = (await driver.enter(first, true)) ?? {}
    await driver.leave(first)
    await driver.enter(held, true)
    const { version } = await driver.swap(line, { version: 0n, next: '1', ttlMs: 1_000, nonce: 'a' })
    // Its last token lies in the future, as if the server's clock had been set back since.
    await admin.ask('UPDATE holdfast_line SET last = last + 1000000000 WHERE name = ?', [Buffer.from(line)])
    await admin.ask('CALL holdfast_sweep_v6(-2000000000, 1000)')
    const rows = await admin.ask('SELECT 1 FROM holdfast_line WHERE name = ?', [Buffer.from(line)])
    expect(rows).toEqual([])
    expect((await driver.touch([held]))[0]).not.toBeNull()
    const again = await driver.enter(entry(line), true)
    expect(again?.token).toBeGreaterThan(token + 1_000_000_000n)
    // Its cell lapsed with the rest, and the next one of that name begins above it.
    expect((await driver.swap(line, null)).version).toBe(0n)
    const next = await driver.swap(line, { version: 0n, next: '2', ttlMs: 1_000, nonce: 'b' })
    expect(next.version).toBeGreaterThan(version)
  })
})
