/** What goes wrong with a real server: connections ended by an administrator, restarts, refusals, limits. */
import { randomBytes } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { type Client, Pool } from 'pg'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { StoreError, StoreUnreachableError } from '../../../src/contract/errors.ts'
import type { Driver, Entry } from '../../../src/contract/driver.ts'
import { postgres, type PostgresOptions } from '../../../src/stores/postgres/index.ts'
import { type Holdfast, holdfast } from '../../../src/index.ts'
import { someoneWaits, usePostgres } from './server.ts'

const bench = usePostgres()
const open: { close(): Promise<unknown> }[] = []
let admin: Client

beforeAll(async () => {
  admin = await bench.connect()
  const driver = postgres(bench.url)
  await driver.setup?.()
  await driver.close()
  await admin.query('CREATE ROLE guest LOGIN')
})

afterEach(async () => {
  for (const closing of open.splice(0).toReversed()) await closing.close()
})

const name = (): string => `fault ${randomBytes(6).toString('hex')}`

async function hold(options: PostgresOptions = {}, url: string = bench.url): Promise<Holdfast> {
  const hf = await holdfast(postgres(url, options))
  open.push(hf)
  return hf
}

function raw(store: Parameters<typeof postgres>[0], options: PostgresOptions = {}): Driver {
  const driver = postgres(store, options)
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

const LIMIT = { cost: 1, burst: 3, unit: 1_000_000, drain: 1, shutAfter: 0, shutMs: 0 }

const terminate = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE pid <> pg_backend_pid() AND application_name LIKE 'holdfast%'`

describe('connections that break', () => {
  test('backends ended by an administrator: holds stay, waiters are served', async () => {
    const [a, b] = [await hold(), await hold()]
    const line = name()
    const held = await a.mutex(line).acquire()
    const waiting = b.mutex(line).acquire()
    for (let i = 0; i < 3; i++) await admin.query(terminate)
    held.assertHeld()
    expect(await held.release()).toBe(true)
    const next = await waiting
    expect(next.token).toBeGreaterThan(held.token)
    await next.release()
  })

  test('the listening connection alone is ended: it comes back, and pushes arrive again', async () => {
    const driver = raw(bench.url)
    const line = name()
    const [holder, waiter] = [entry(line), entry(line)]
    await driver.watch(line, entry(line).id, () => {})
    await admin.query(`${terminate} AND application_name = 'holdfast listen'`)
    const pushed = new Promise<unknown>((resolve) => {
      void Promise.resolve(driver.watch(line, waiter.id, (push) => push && resolve(push.token)))
    })
    await driver.enter(holder, true)
    const place = await driver.enter(waiter, true)
    const { rows } = await poll(
      `SELECT 1 FROM pg_stat_activity WHERE application_name = 'holdfast listen' AND query LIKE 'LISTEN%'`,
    )
    expect(rows).toHaveLength(1)
    await driver.leave(holder)
    expect(await pushed).toBe(place?.token)
  })

  test("the user's own pool, and a URL to listen at, which goes past its pooler: pushes arrive", async () => {
    const pool = new Pool({ connectionString: bench.url, max: 2 })
    pool.on('error', () => {})
    const driver = raw(pool, { listenUrl: bench.url, pollMs: { min: 60_000, max: 60_000 } })
    expect(driver.traits.push).toBe('answer')
    expect(raw(pool).traits.push).toBe('hint')
    const line = name()
    const [holder, waiter] = [entry(line), entry(line)]
    const pushed = new Promise<unknown>((resolve) => {
      void Promise.resolve(driver.watch(line, waiter.id, (push) => push && resolve(push.token)))
    })
    await driver.enter(holder, true)
    const place = await driver.enter(waiter, true)
    await driver.leave(holder)
    expect(await pushed).toBe(place?.token)
    await driver.close()
    await pool.end()
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

describe('a crash of the server', () => {
  test('while one holds and others wait: the hold is kept, and whoever waited is served in the end', async () => {
    const [a, b] = [await hold(), await hold()]
    const line = name()
    const held = await a.mutex(line, { ttlMs: 60_000 }).acquire()
    const tokens: bigint[] = []
    const visit = async (): Promise<void> => {
      await b.mutex(line, { fairness: 'strict' }).using(({ token }) => tokens.push(token))
    }
    const visits = Promise.all([visit(), visit(), visit()])
    await poll(`SELECT 1 FROM holdfast_place WHERE line = '${hex(line)}' HAVING count(*) = 4`)
    // Places that wait are answered before they are on the disk: they may be gone afterwards, and are entered anew.
    await bench.server.kill()
    await bench.server.start()
    held.assertHeld()
    admin = await bench.connect()
    expect(await (await hold()).mutex(line).tryAcquire()).toBeNull()
    expect(await held.release()).toBe(true)
    await visits
    expect([held.token, ...tokens]).toEqual([held.token, ...tokens].toSorted((x, y) => (x < y ? -1 : 1)))
  })
})

describe('victims', () => {
  test("a deadlock's victim is sent again", async () => {
    const driver = raw(bench.url)
    const [first, second] = [`a ${name()}`, `b ${name()}`].map((line) => entry(line)) as [Entry, Entry]
    for (const held of [first, second]) await driver.enter(held, true)
    const other = await bench.connect()
    const lock = (line: string) =>
      other.query({
        text: 'SELECT 1 FROM public.holdfast_line WHERE name = $1 FOR UPDATE',
        values: [Buffer.from(line)],
      })
    await other.query('SET deadlock_timeout = 60000')
    await other.query('BEGIN')
    await lock(second.line)
    // Ours has the first line and waits for the second; the other has the second and asks for the first.
    const touching = driver.touch([first, second])
    await someoneWaits(admin)
    await lock(first.line)
    await other.query('COMMIT')
    for (const place of await touching) expect(place).not.toBeNull()
  })

  test('an errno with five letters is an outage, not a refusal by the server', async () => {
    const broken = { query: () => Promise.reject(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })) }
    await expect(raw(broken).enter(entry(name()), true)).rejects.toBeInstanceOf(StoreUnreachableError)
  })
})

describe('refusals', () => {
  test('no tables: the error says what to run', async () => {
    const driver = raw(bench.url, { prefix: 'nowhere' })
    await expect(driver.enter(entry(name()), true)).rejects.toThrow(/no Holdfast tables.*holdfast migrate.*setup\(\)/)
  })

  test('older and newer tables: what to run, and no touching of the newer', async () => {
    const driver = raw(bench.url, { prefix: 'other' })
    await driver.setup?.()
    await admin.query('ALTER FUNCTION other_enter_v6 RENAME TO other_enter_v0')
    await admin.query('UPDATE other_meta SET version = 0')
    await expect(driver.enter(entry(name()), true)).rejects.toThrow(/of version 0, version 6 is needed.*migrate/)
    await admin.query('UPDATE other_meta SET version = 99')
    await expect(driver.enter(entry(name()), true)).rejects.toThrow(/version 99, newer/)
    await expect(driver.setup?.()).rejects.toThrow(StoreError)
    await admin.query('UPDATE other_meta SET version = 0')
    await driver.setup?.()
    expect(await driver.enter(entry(name()), true)).not.toBeNull()
  })

  test('tables of version 1 are brought up to date, and those who still work with them go on', async () => {
    const driver = raw(bench.url, { prefix: 'grown' })
    await driver.setup?.()
    await admin.query('DROP TABLE grown_bucket')
    await admin.query('ALTER FUNCTION grown_leave_v6 RENAME TO grown_leave_v1')
    await admin.query('UPDATE grown_meta SET version = 1')
    await expect(driver.take?.('limit', LIMIT)).rejects.toThrow(/of version 1, version 6 is needed.*migrate/)
    await driver.setup?.()
    expect(await driver.take?.('limit', LIMIT)).toMatchObject({ taken: true })
    const { rows } = await admin.query({
      text: "SELECT proname FROM pg_proc WHERE proname LIKE 'grown_leave_v%' ORDER BY 1",
      rowMode: 'array',
    })
    expect(rows).toEqual([['grown_leave_v1'], ['grown_leave_v6']])
  })

  test('several processes set up at once', async () => {
    const drivers = Array.from({ length: 6 }, () => raw(bench.url, { prefix: 'race', schema: 'race_schema' }))
    await Promise.all(drivers.map(async (driver) => driver.setup?.()))
    expect(await drivers[0]?.enter(entry(name()), true)).not.toBeNull()
  })

  test('a role without rights, and a server that takes no writes', async () => {
    const guest = bench.url.replace('postgres@', 'guest@')
    await expect(raw(guest, { prefix: 'guest' }).setup?.()).rejects.toThrow(/permission denied.*grant/)
    await expect(raw(guest).enter(entry(name()), true)).rejects.toThrow(/permission denied.*grant/)
    await admin.query('ALTER ROLE guest SET default_transaction_read_only = on')
    await admin.query('GRANT ALL ON ALL TABLES IN SCHEMA public TO guest')
    const refused = raw(guest).enter(entry(name()), true)
    await expect(refused).rejects.toThrow(/read-only.*primary/)
    await expect(refused).rejects.not.toBeInstanceOf(StoreUnreachableError)
    await admin.query('ALTER ROLE guest RESET default_transaction_read_only')
  })

  test('a standby server: typed, and told to give the primary', async () => {
    const { server } = bench
    await server.stop()
    // Without a primary to follow it stays what it is: open for reading.
    await writeFile(join(server.data, 'standby.signal'), '')
    await server.start()
    try {
      const driver = raw(bench.url, { listenUrl: false })
      const refused = driver.enter(entry(name()), true)
      await expect(refused).rejects.toThrow(/read-only.*primary/)
      await expect(refused).rejects.not.toBeInstanceOf(StoreUnreachableError)
      for await (const line of driver.list('')) expect(line.name).toEqual(expect.any(String))
    } finally {
      await server.stop()
      await rm(join(server.data, 'standby.signal'))
      await server.start()
      admin = await bench.connect()
    }
  })

  test('transactions that are not read committed are refused, not served from an old snapshot', async () => {
    const pool = new Pool({ connectionString: `${bench.url}?options=-c%20default_transaction_isolation=serializable` })
    pool.on('error', () => {})
    const driver = raw(pool)
    await expect(driver.enter(entry(name()), true)).rejects.toThrow(/read committed/)
    await driver.close()
    await pool.end()
  })

  test('no server there, a wrong database, a wrong option: typed, and without the password', async () => {
    const nobody = raw('postgres://user:secret@127.0.0.1:1/db', { timeoutMs: 500 })
    const silent = await nobody.enter(entry(name()), true).catch((error: unknown) => error as Error)
    expect(silent).toBeInstanceOf(StoreUnreachableError)
    const wrong = await raw(bench.url.replace(/[^/]+$/, 'nosuch'))
      .enter(entry(name()), true)
      .catch((e: Error) => e)
    expect(wrong).toBeInstanceOf(StoreError)
    expect(wrong).not.toBeInstanceOf(StoreUnreachableError)
    for (const error of [silent, wrong]) expect(inspect(error, { depth: 9 })).not.toContain('secret')
    await expect(holdfast(`${bench.url}?schema=a"b`)).rejects.toThrow(/schema must be/)
    await expect(holdfast(`${bench.url}?nonsense=1`)).rejects.toThrow(/no option "nonsense"/)
  })
})

describe('limits', () => {
  test('a pool of one connection: 40 contenders do not block each other', async () => {
    const pool = new Pool({ connectionString: bench.url, max: 1 })
    pool.on('error', () => {})
    const hf = await holdfast(postgres(pool))
    const line = name()
    let inside = 0
    const visit = async (): Promise<void> => {
      await hf.mutex(line, { fairness: 'strict' }).using(async () => {
        expect(++inside).toBe(1)
        await new Promise((resolve) => setImmediate(resolve))
        inside--
      })
    }
    await Promise.all(Array.from({ length: 40 }, visit))
    await hf.close()
    // The pool is the user's, and still open.
    await pool.query({ text: 'SELECT 1' })
    await pool.end()
  })

  test('connection limit reached: unreachable, and ridden out once there is room', async () => {
    await admin.query('GRANT ALL ON ALL TABLES IN SCHEMA public TO guest')
    await admin.query('ALTER ROLE guest CONNECTION LIMIT 0')
    const hf = await hold({ listenUrl: false }, bench.url.replace('postgres@', 'guest@'))
    await expect(hf.mutex(name(), { ttlMs: 300 }).acquire()).rejects.toBeInstanceOf(StoreUnreachableError)
    const line = name()
    const waiting = hf.mutex(line).acquire()
    await admin.query('ALTER ROLE guest CONNECTION LIMIT -1')
    await (await waiting).release()
  })

  test('a statement timeout is an outage that passes', async () => {
    const hf = await hold({ listenUrl: false }, `${bench.url}?options=-c%20statement_timeout=50`)
    const line = name()
    await (await hf.mutex(line).acquire()).release()
    await admin.query('BEGIN')
    await admin.query({
      text: 'SELECT 1 FROM public.holdfast_line WHERE name = $1 FOR UPDATE',
      values: [Buffer.from(line)],
    })
    const waiting = hf.mutex(line).acquire()
    await poll("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'", await bench.connect())
    await admin.query('COMMIT')
    await (await waiting).release()
  })

  test('idle lines and lapsed cells are swept, and later tokens are still above', async () => {
    const driver = raw(bench.url)
    const [line, held] = [name(), entry(name())]
    const first = entry(line)
    const { token = 0n } = (await driver.enter(first, true)) ?? {}
    await driver.leave(first)
    await driver.enter(held, true)
    const { version } = await driver.swap(line, { version: 0n, next: '1', ttlMs: 1_000, nonce: 'a' })
    await admin.query(`UPDATE holdfast_line SET last = last + 1000000000 WHERE name = '${hex(line)}'`)
    const swept = (text: string) => admin.query({ text, rowMode: 'array' as const })
    // Its last token lies in the future, as if the server's clock had been set back since.
    await swept('SELECT holdfast_sweep_v6(-2000000000, 1000)')
    const { rows } = await swept(`SELECT 1 FROM holdfast_line WHERE name = '${hex(line)}'`)
    expect(rows).toHaveLength(0)
    expect((await driver.touch([held]))[0]).not.toBeNull()
    const again = await driver.enter(entry(line), true)
    expect(again?.token).toBeGreaterThan(token + 1_000_000_000n)
    // Its cell lapsed with the rest, and the next one of that name begins above it.
    expect((await driver.swap(line, null)).version).toBe(0n)
    const next = await driver.swap(line, { version: 0n, next: '2', ttlMs: 1_000, nonce: 'b' })
    expect(next.version).toBeGreaterThan(version)
  })
})

const hex = (line: string): string => `\\x${Buffer.from(line).toString('hex')}`

async function poll(sql: string, client: Client = admin): Promise<{ rows: unknown[][] }> {
  const end = performance.now() + 30_000
  for (;;) {
    const found = await client.query({ text: sql, rowMode: 'array' })
    if (found.rows.length > 0) return found
    if (performance.now() > end) throw new Error(`never true: ${sql}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
