/** Tokens and clocks: a stepped wall clock, the end of the range, another boot. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Entry } from '../../../src/contract/driver.ts'
import { loadEngine } from '../../../src/stores/sqlite/engine.ts'
import { type SqliteDriver, sqlite } from '../../../src/stores/sqlite/index.ts'
import { holdfast } from '../../../src/index.ts'
import { system } from '../../../src/system.ts'
import { testFolder } from './folder.ts'

const folder = testFolder()
const fresh = (): string => join(folder, `${randomBytes(4).toString('hex')}.db`)

function entry(line: string): Entry {
  return { line, id: randomBytes(16).toString('hex'), weight: 1, capacity: 1, ttlMs: 20_000, data: '{}' }
}

async function tokenOf(driver: SqliteDriver, line = 'a'): Promise<bigint> {
  const at = entry(line)
  const place = await driver.enter(at, true)
  await driver.leave(at)
  if (place === null) throw new Error('no place')
  return place.token
}

async function poke(path: string, sql: string): Promise<void> {
  const engine = (await loadEngine(undefined))(path)
  engine.exec(sql)
  engine.close()
}

test('a wall clock set back by an hour, or forward and back, neither lowers a token nor ends a hold', async () => {
  const path = fresh()
  let shiftMs = 0
  const runtime = { ...system, wallNow: () => Date.now() + shiftMs }
  const stepped = sqlite({ path, runtime })
  const held = entry('held')
  await stepped.enter(held, true)
  let last = 0n
  for (shiftMs of [0, -3_600_000, 86_400_000, 0, -86_400_000]) {
    const token = await tokenOf(stepped)
    expect(token).toBeGreaterThan(last)
    last = token
    expect(await stepped.enter(entry('held'), false)).toBeNull()
    expect((await stepped.touch([held]))[0]?.ahead).toBe(0)
  }
  await stepped.close()
})

test('tokens come back exactly up to 2^53, and are refused beyond', async () => {
  const path = fresh()
  const driver = sqlite(path)
  await driver.setup()
  await poke(path, `UPDATE host SET token = ${2n ** 53n - 3n}`)
  expect(await tokenOf(driver, 'a')).toBe(2n ** 53n - 2n)
  expect(await tokenOf(driver, 'b')).toBe(2n ** 53n - 1n)
  await expect(driver.enter(entry('c'), true)).rejects.toMatchObject({ code: 'HF_STORE' })
  await driver.close()
})

test('a hold near the end of the range has a token that is exact, times 1024', async () => {
  const path = fresh()
  const driver = sqlite(path)
  await driver.setup()
  await poke(path, `UPDATE host SET token = ${2n ** 53n - 2n}`)
  const hf = await holdfast(driver)
  const held = await hf.mutex('a').acquire()
  expect(held.token).toBe((2n ** 53n - 1n) * 1024n)
  for await (const view of hf.list()) expect(view.holders[0]?.token).toBe(held.token)
  await hf.close()
})

test('after a reboot the places of before are gone, tokens still rise, and cells have stayed', async () => {
  const path = fresh()
  const before = sqlite(path)
  const stale = entry('a')
  const place = await before.enter(stale, true)
  const cell = await before.swap('cell', { version: 0n, next: '"kept"', ttlMs: 0, nonce: 'n1' })
  await before.swap('timed', { version: 0n, next: '"kept"', ttlMs: 60_000, nonce: 'n2' })
  await poke(path, "UPDATE host SET boot = 'an earlier one'")
  // Whoever is still there from before is told, not fooled.
  await expect(before.enter(entry('a'), true)).rejects.toMatchObject({ code: 'HF_STORE' })
  const after = sqlite(path)
  const next = await after.enter(entry('a'), false)
  expect(next?.token).toBeGreaterThan(place?.token ?? 0n)
  expect(await after.swap('cell', null)).toEqual(cell)
  expect((await after.swap('timed', null)).value).toBe('"kept"')
  expect(await before.touch([stale])).toEqual([null])
  await before.close()
  await after.close()
})
