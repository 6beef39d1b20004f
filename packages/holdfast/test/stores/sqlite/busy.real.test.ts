/** Many at once: calls that share a transaction, a file that is locked, and processes that crowd one line. */
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Entry } from '../../../src/contract/driver.ts'
import { loadEngine } from '../../../src/stores/sqlite/engine.ts'
import { sqlite } from '../../../src/stores/sqlite/index.ts'
import { CapacityMismatchError, StoreUnreachableError } from '../../../src/index.ts'
import { Client } from './client.ts'
import { testFolder } from './folder.ts'

const folder = testFolder()
const fresh = (): string => join(folder, `${randomBytes(4).toString('hex')}.db`)

function entry(line: string, over: Partial<Entry> = {}): Entry {
  return { line, id: randomBytes(16).toString('hex'), weight: 1, capacity: 1, ttlMs: 60_000, data: '{}', ...over }
}

test('of calls that share a transaction one may be refused, or fail in the engine, and the others stand', async () => {
  const driver = sqlite(fresh())
  await driver.setup()
  const results = await Promise.allSettled([
    driver.enter(entry('a'), true),
    driver.enter(entry('a', { capacity: 2 }), true),
    driver.enter(entry('b', { weight: Number.NaN }), true),
    driver.enter(entry('c'), true),
    driver.swap('cell', { version: 0n, next: '1', ttlMs: 0, nonce: 'n' }),
  ])
  expect(results.map((result) => result.status)).toEqual([
    'fulfilled',
    'rejected',
    'rejected',
    'fulfilled',
    'fulfilled',
  ])
  expect((results[1] as PromiseRejectedResult).reason).toBeInstanceOf(CapacityMismatchError)
  const lines: string[] = []
  for await (const view of driver.list('')) lines.push(`${view.name} ${view.holders.length}`)
  expect(lines).toEqual(['a 1', 'c 1'])
  expect((await driver.swap('cell', null)).value).toBe('1')
  await driver.close()
})

test('a file locked by another: the event loop goes on, and the call is answered once it is free', async () => {
  const path = fresh()
  const driver = sqlite(path)
  await driver.setup()
  const other = (await loadEngine(undefined))(path)
  other.exec('BEGIN IMMEDIATE')
  let isAnswered = false
  const place = driver.enter(entry('a'), true).finally(() => {
    isAnswered = true
  })
  for (let batch = 0; batch < 200; batch++) await new Promise((resolve) => setTimeout(resolve, 1))
  expect(isAnswered).toBe(false)
  other.exec('COMMIT')
  expect((await place)?.ahead).toBe(0)
  other.close()
  await driver.close()
})

test('a file that stays locked is out of reach, and the call left no trace', async () => {
  const path = fresh()
  const driver = sqlite(path)
  await driver.setup()
  const other = (await loadEngine(undefined))(path)
  other.exec('BEGIN IMMEDIATE')
  await expect(driver.enter(entry('a'), true)).rejects.toBeInstanceOf(StoreUnreachableError)
  other.exec('COMMIT')
  other.close()
  expect(await driver.list('').next()).toMatchObject({ done: true })
  await driver.close()
})

test('a loop of take and release keeps neither timers nor sockets from their turn', async () => {
  const driver = sqlite(fresh())
  const over = AbortSignal.timeout(100)
  while (!over.aborted) {
    const at = entry('a')
    await driver.enter(at, true)
    await driver.leave(at)
  }
  await driver.close()
})

test('four processes of ten clients each: nobody reads what another is about to write', async () => {
  const [path, counter] = [fresh(), fresh()]
  writeFileSync(counter, '0')
  const clients = await Promise.all([1, 2, 3, 4].map(() => Client.start(path)))
  await Promise.all(clients.map((client) => client.ask('count', counter)))
  expect(readFileSync(counter, 'utf8')).toBe(String(4 * 10 * 10))
})

test('twenty processes open a new file at once', async () => {
  const path = fresh()
  const drivers = Array.from({ length: 20 }, () => sqlite(path))
  await Promise.all([Client.start(path), Client.start(path), ...drivers.map((driver) => driver.setup())])
  for (const driver of drivers) await driver.close()
})

test('processes that open a new file at once are each known by a key of their own', async () => {
  // A key that is read before it is committed can be given out twice: then each process is judged, and rung, for
  // another.
  for (let round = 0; round < 4; round++) {
    const path = fresh()
    const clients = await Promise.all([1, 2, 3, 4].map(() => Client.start(path)))
    await Promise.all(clients.map((client) => client.ask('acquire', String(client.process.pid))))
    const engine = (await loadEngine(undefined))(path)
    const rows = engine
      .prepare('SELECT places.line, process.pid FROM places LEFT JOIN process ON process.key = places.process')
      .all() as { readonly line: string; readonly pid: number | null }[]
    engine.close()
    expect(rows.length).toBe(4)
    // A line is stored with its prefix in front.
    for (const { line, pid } of rows) expect(line).toMatch(new RegExp(`(^|\\D)${pid}$`))
    await Promise.all(clients.map((client) => client.kill()))
  }
})
