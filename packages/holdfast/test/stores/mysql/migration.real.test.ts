/** Tables of the version before: they get the columns that they lack, and their rows stay. */
import { randomBytes } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { type Entry, isGranted } from '../../../src/contract/driver.ts'
import { mysql } from '../../../src/stores/mysql/index.ts'
import { type Plain, useMariadb } from './server.ts'

const bench = useMariadb()
const CAPACITY = 1_000_000
let admin: Plain
const entry = (line: string, weight: number): Entry => {
  return { line, id: randomBytes(16).toString('hex'), weight, capacity: CAPACITY, ttlMs: 60_000, data: '{}' }
}

beforeAll(async () => {
  admin = await bench.connect()
})

test('tables of version 2, in use: columns are added, holds stay, and upgrades work', async () => {
  const driver = mysql(bench.url)
  await driver.setup?.()
  const [held, other] = [entry('grown', 500_001), entry('grown', 1)]
  await driver.enter(held, true)
  await driver.enter(other, true)
  await admin.ask('ALTER TABLE holdfast_line DROP COLUMN raised, DROP COLUMN raised_extra, DROP COLUMN raised_beside')
  await admin.ask('ALTER TABLE holdfast_place DROP COLUMN turn')
  await admin.ask('DROP TABLE holdfast_slot')
  await admin.ask('CREATE TABLE holdfast_tx (name VARBINARY(512) NOT NULL PRIMARY KEY) ENGINE = InnoDB')
  await admin.ask('UPDATE holdfast_meta SET version = 2')
  await driver.setup?.()
  expect(await admin.ask("SHOW TABLES LIKE 'holdfast_tx'")).toEqual([])
  expect(Number((await admin.ask('SELECT COUNT(*) FROM holdfast_slot'))[0]?.[0])).toBe(65_536)
  expect((await driver.touch([held, other])).every((place) => place !== null)).toBe(true)
  const heavy = { ...held, weight: CAPACITY }
  expect((await driver.reweigh?.(heavy, 1))?.ahead).toBe(1)
  await driver.leave(other)
  const [place] = await driver.touch([heavy])
  expect(place !== null && place !== undefined && isGranted(heavy, place)).toBe(true)
  expect(await driver.enter(entry('grown', 1), false)).toBeNull()
  await driver.close()
})

test('tables of version 5, in use: holds stay, and the sweep is one that waits', async () => {
  const driver = mysql(bench.url)
  await driver.setup?.()
  const held = entry('of version 5', CAPACITY)
  const place = await driver.enter(held, true)
  await admin.ask('DROP PROCEDURE holdfast_sweep_v6')
  await admin.ask('UPDATE holdfast_meta SET version = 5')
  await driver.setup?.()
  expect((await admin.ask('SELECT version FROM holdfast_meta')).flat().map(Number)).toEqual([6])
  expect(await admin.ask('CALL holdfast_sweep_v6(600000000, 1000)')).toHaveLength(1)
  expect((await driver.touch([held]))[0]?.token).toBe(place?.token)
  await driver.close()
})
