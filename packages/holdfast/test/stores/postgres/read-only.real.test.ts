/**
 * A server that takes no writes for a while, and connections that do not learn that it does again: the driver comes
 * back.
 */
import { randomBytes } from 'node:crypto'
import { type Client, Pool } from 'pg'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { StoreError } from '../../../src/contract/errors.ts'
import { postgres, type PostgresOptions } from '../../../src/stores/postgres/index.ts'
import { type Holdfast, holdfast } from '../../../src/index.ts'
import { usePostgres } from './server.ts'

const bench = usePostgres()
let admin: Client
const open: { close(): Promise<unknown> }[] = []

beforeAll(async () => {
  admin = await bench.connect()
  const driver = postgres(bench.url)
  await driver.setup?.()
  await driver.close()
})
afterEach(async () => {
  await admin.query('ALTER DATABASE postgres RESET default_transaction_read_only')
  for (const closing of open.splice(0).toReversed()) await closing.close()
})

async function hold(store: Parameters<typeof postgres>[0], options: PostgresOptions = {}): Promise<Holdfast> {
  const hf = await holdfast(postgres(store, options))
  open.push(hf)
  return hf
}

const READ_ONLY = "ALTER DATABASE postgres SET default_transaction_read_only = 'on'"

// What is set for a database holds for sessions that begin after it: those of a demoted server that stays up look the
// same from here.
test.each(['pg', 'postgres'] as const)('by URL, through %s: calls are refused, and served again', async (client) => {
  await admin.query(READ_ONLY)
  const [a, b] = [await hold(bench.url, { client }), await hold(bench.url, { client })]
  const line = `read-only ${randomBytes(6).toString('hex')}`
  for (const hf of [a, b]) await expect(hf.mutex(line).acquire()).rejects.toThrow(/read-only.*primary/)
  // Several connections, each of which was made meanwhile.
  await Promise.allSettled(Array.from({ length: 20 }, (_, i) => a.mutex(`${line} ${i}`).acquire()))
  await admin.query('ALTER DATABASE postgres RESET default_transaction_read_only')
  await expect
    .poll(async () => (await a.mutex(line).tryAcquire().catch(notYet)) !== undefined, { timeout: 30_000 })
    .toBe(true)
  // The rest of what was made meanwhile goes, too.
  for (let i = 0; i < 30; i++) {
    const held = await a.mutex(`${line} again ${i}`).acquire()
    await held.release()
  }
  await expect
    .poll(async () => (await b.mutex('other').tryAcquire().catch(notYet)) !== undefined, { timeout: 30_000 })
    .toBe(true)
})

test('a holder and a waiter through the change: the waiter is told by the new connections', async () => {
  const [a, b] = [await hold(bench.url), await hold(bench.url)]
  const line = `through ${randomBytes(6).toString('hex')}`
  const held = await a.mutex(line, { ttlMs: 60_000 }).acquire()
  const waiting = b.mutex(line, { ttlMs: 60_000 }).acquire()
  await expect.poll(async () => (await admin.query('SELECT 1 FROM holdfast_place')).rows.length).toBe(2)
  await admin.query(READ_ONLY)
  await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'holdfast%'`)
  await expect
    .poll(() =>
      a
        .mutex('x')
        .tryAcquire()
        .then(
          () => 'served',
          (error: unknown) => error,
        ),
    )
    .toBeInstanceOf(StoreError)
  await admin.query('ALTER DATABASE postgres RESET default_transaction_read_only')
  held.assertHeld()
  await expect
    .poll(async () => (await a.mutex('y').tryAcquire().catch(notYet)) !== undefined, { timeout: 30_000 })
    .toBe(true)
  expect(await held.release()).toBe(true)
  await (await waiting).release()
})

test("the user's own pool, which drops what has failed, comes back as well", async () => {
  await admin.query(READ_ONLY)
  const pool = new Pool({ connectionString: bench.url, max: 2 })
  pool.on('error', () => {})
  const hf = await hold(pool)
  await expect(hf.mutex('pooled').acquire()).rejects.toThrow(/read-only/)
  await admin.query('ALTER DATABASE postgres RESET default_transaction_read_only')
  await expect
    .poll(async () => (await hf.mutex('pooled').tryAcquire().catch(notYet)) !== undefined, { timeout: 30_000 })
    .toBe(true)
  await hf.close()
  await pool.end()
})

test('two instances on one pool, with tables of their own, both are set up and hold', async () => {
  const pool = new Pool({ connectionString: bench.url, max: 1 })
  pool.on('error', () => {})
  const instances = [{ prefix: 'one' }, { prefix: 'two' }, { prefix: 'one', schema: 'elsewhere' }]
  const drivers = instances.map((options) => postgres(pool, options))
  for (const driver of drivers) await driver.setup?.()
  for (const driver of drivers) await driver.setup?.()
  const holders = await Promise.all(
    drivers.map(async (driver) => {
      const hf = await holdfast(driver)
      open.push(hf)
      return hf.mutex('same name').tryAcquire()
    }),
  )
  expect(holders.every((held) => held !== null)).toBe(true)
  for (const held of holders) await held?.release()
  for (const closing of open.splice(0)) await closing.close()
  await pool.end()
})

/** Refused still. */
function notYet(): undefined {
  return undefined
}
