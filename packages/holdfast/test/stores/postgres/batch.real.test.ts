/** Calls of one turn as one statement, on PostgreSQL; and what one snapshot for all of them must not hide. */
import { randomBytes } from 'node:crypto'
import type { Client } from 'pg'
import { beforeAll, expect, test } from 'vitest'
import type { Entry } from '../../../src/contract/driver.ts'
import { postgres } from '../../../src/stores/postgres/index.ts'
import { joinedCases } from '../sql/joined.ts'
import { someoneWaits, usePostgres } from './server.ts'

const bench = usePostgres()
let slow: Client
let observer: Client
beforeAll(async () => {
  const driver = postgres(bench.url)
  await driver.setup?.()
  await driver.close()
  slow = await bench.connect()
  observer = await bench.connect()
})

async function ask(client: Client, text: string, values: unknown[] = []): Promise<unknown[][]> {
  return (await client.query({ text, values, rowMode: 'array' })).rows
}

joinedCases({
  url: () => bench.url,
  driver: (url) => postgres(url, { timeoutMs: 20_000 }),
  async lockRow(line) {
    await slow.query('BEGIN')
    await ask(slow, 'SELECT 1 FROM public.holdfast_line WHERE name = $1 FOR UPDATE', [Buffer.from(line)])
    return () => slow.query('COMMIT')
  },
  raiseFloor: (token) => ask(observer, 'UPDATE public.holdfast_meta SET floor = $1', [String(token)]),
  async deadlocks() {
    const [row] = await ask(observer, 'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()')
    return Number(row?.[0])
  },
})

test('lines that others change while the statement waits for a new one are judged as they are then', async () => {
  const entry = (line: string): Entry => {
    return { line, id: randomBytes(16).toString('hex'), weight: 1, capacity: 1, ttlMs: 60_000, data: '{}' }
  }
  const [mine, theirs] = [postgres(bench.url), postgres(bench.url)]
  const [made, taken, used] = ['made', 'taken', 'used'].map((state) => `${state} ${randomBytes(6).toString('hex')}`)
  const lines = [made, taken, used] as [string, string, string]
  for (const line of lines.slice(1)) {
    const before = entry(line)
    await mine.enter(before, true)
    await mine.leave(before)
  }
  await slow.query('BEGIN')
  await ask(slow, 'SELECT public.holdfast_enter_v6($1, $2, 1, 1, 60000000, $3, NULL, true)', [
    Buffer.from(lines[0]),
    entry(lines[0]).id,
    '{}',
  ])
  const places = Promise.all(lines.map((line) => mine.enter(entry(line), true)))
  await someoneWaits(observer)
  await theirs.enter(entry(lines[1]), true)
  const passing = entry(lines[2])
  const passed = await theirs.enter(passing, true)
  await theirs.leave(passing)
  await slow.query('COMMIT')
  const [behindMade, behindTaken, free] = await places
  expect([behindMade?.ahead, behindTaken?.ahead, free?.ahead]).toEqual([1, 1, 0])
  expect(free?.token).toBeGreaterThan(passed?.token ?? 0n)
  await Promise.all([mine.close(), theirs.close()])
}, 60_000)
