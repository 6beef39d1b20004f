/**
 * Rules of the store that no case of the suite can force: who is told by whose step, in which order rows are locked,
 * what a sweep remembers.
 */
import { randomBytes } from 'node:crypto'
import type { Client } from 'pg'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Driver, Entry, Push } from '../../../src/contract/driver.ts'
import { postgres, type PostgresOptions } from '../../../src/stores/postgres/index.ts'
import { someoneWaits, usePostgres } from './server.ts'

const bench = usePostgres()
const open: Driver[] = []
let admin: Client

beforeAll(async () => {
  admin = await bench.connect()
  const driver = postgres(bench.url)
  await driver.setup?.()
  await driver.close()
})
afterEach(async () => {
  for (const driver of open.splice(0)) await driver.close()
})

// Polling would wake them, too.
const DEAF = { min: 60_000, max: 60_000 }

function raw(url: string = bench.url, options: PostgresOptions = { pollMs: DEAF }): Driver {
  const driver = postgres(url, options)
  open.push(driver)
  return driver
}

const entry = (line: string, ttlMs = 60_000): Entry => {
  return { line, id: randomBytes(16).toString('hex'), weight: 1, capacity: 1, ttlMs, data: '{}' }
}
const name = (): string => `rule ${randomBytes(6).toString('hex')}`

async function pushed(driver: Driver, at: Entry): Promise<{ readonly push: Promise<Push> }> {
  let told: (push: Push) => void = () => {}
  const push = new Promise<Push>((resolve) => (told = resolve))
  await driver.watch(at.line, at.id, (got) => got !== undefined && told(got))
  return { push }
}

describe('whoever makes room tells the next', () => {
  test.each(['enter', 'touch', 'rename', 'break with now'])('by %s, in another process', async (step) => {
    const [mine, theirs] = [raw(), raw()]
    const line = name()
    const [holder, waiter, third] = [entry(line, step === 'break with now' ? 60_000 : 300), entry(line), entry(line)]
    const { push } = await pushed(mine, waiter)
    await theirs.enter(holder, true)
    const place = await mine.enter(waiter, true)
    if (step === 'touch' || step === 'rename') await theirs.enter(third, true)
    expect(place).toMatchObject({ ahead: 1 })
    if (step === 'break with now') expect(await theirs.break(line, true)).toBe(1)
    else await lapsed(holder)
    if (step === 'enter') await theirs.enter(third, true)
    if (step === 'touch') await theirs.touch([third])
    if (step === 'rename') await theirs.rename?.(third, randomBytes(16).toString('hex'))
    expect(await push).toEqual({ id: waiter.id, token: place?.token })
  })
})

test('a renewal of many lines locks them in the order of their names, whatever the plan', async () => {
  const plan = '-c enable_indexscan=off -c enable_bitmapscan=off -c enable_indexonlyscan=off'
  const planned = `${bench.url}?options=${encodeURIComponent(plan)}`
  const driver = raw(planned, { listenUrl: false })
  const prefix = name()
  // In the table they stand the other way round.
  const entries = ['e', 'd', 'c', 'b', 'a'].map((letter) => entry(`${prefix} ${letter}`))
  for (const at of entries) await driver.enter(at, true)
  const first = entries.at(-1) as Entry
  const blocker = await bench.connect()
  await blocker.query('BEGIN')
  await blocker.query({
    text: 'SELECT 1 FROM holdfast_line WHERE name = $1 FOR UPDATE',
    values: [Buffer.from(first.line)],
  })
  const touching = driver.touch(entries)
  await someoneWaits(admin)
  // Whoever waits for the first has none of the others: no circle can close.
  const free = await admin.query({
    text:
      'SELECT count(*)::int FROM (SELECT 1 FROM holdfast_line WHERE name > $1 AND name < $2 FOR UPDATE SKIP ' +
      'LOCKED) s',
    values: [Buffer.from(first.line), Buffer.from(`${prefix} f`)],
    rowMode: 'array',
  })
  expect(free.rows).toEqual([[4]])
  await blocker.query('COMMIT')
  expect((await touching).every((place) => place !== null)).toBe(true)
})

test('a cell that was swept is remembered by the floor: its next version is above the last', async () => {
  const driver = raw()
  const key = name()
  const { version } = await driver.swap(key, { version: 0n, next: '1', ttlMs: 1_000, nonce: 'a' })
  // As if the server's clock had been set back by an hour since.
  await admin.query({
    text: 'UPDATE holdfast_cell SET version = version + 3600000000 WHERE key = $1',
    values: [Buffer.from(key)],
  })
  await admin.query('SELECT holdfast_sweep_v6(-2000000000, 1000)')
  expect(
    (await admin.query({ text: 'SELECT 1 FROM holdfast_cell WHERE key = $1', values: [Buffer.from(key)] })).rows,
  ).toEqual([])
  const next = await driver.swap(key, { version: 0n, next: '2', ttlMs: 1_000, nonce: 'b' })
  expect(next.version).toBeGreaterThan(version + 3_600_000_000n)
})

async function lapsed(at: Entry): Promise<void> {
  const sql =
    `SELECT coalesce((SELECT solo_lapse FROM holdfast_line WHERE solo_id = $1), (SELECT lapse FROM holdfast_place ` +
    `WHERE id = $1)) <= holdfast_now_v6()`
  await expect
    .poll(async () => (await admin.query({ text: sql, values: [at.id], rowMode: 'array' })).rows[0]?.[0], {
      timeout: 30_000,
    })
    .toBe(true)
}
