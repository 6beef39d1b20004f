/** Tables of the version before, in use: they are brought up to date, and their users go on beside the new ones. */
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { beforeAll, expect, test } from 'vitest'
import { type Entry, isGranted } from '../../../src/contract/driver.ts'
import { postgres, postgresMigration } from '../../../src/stores/postgres/index.ts'
import { usePostgres } from './server.ts'

const bench = usePostgres()
const CAPACITY = 1_000_000
const entry = (line: string, weight: number): Entry => {
  return { line, id: randomBytes(16).toString('hex'), weight, capacity: CAPACITY, ttlMs: 60_000, data: '{}' }
}

beforeAll(async () => {
  const admin = await bench.connect()
  await admin.query(await readFile(new URL('schema-v3.sql', import.meta.url), 'utf8'))
})

test('an old session at work before the migration works after it, and never overtakes an upgrade', async () => {
  const old = await bench.connect()
  const driver = postgres(bench.url)
  const line = 'grown'
  const enterOld = async (weight: number): Promise<number | null> => {
    const { rows } = await old.query({
      text: `SELECT public.holdfast_enter_v3($1, $2, ${weight}, ${CAPACITY}, 60000000, '{}', NULL, false)`,
      values: [Buffer.from(line), randomBytes(16).toString('hex')],
      rowMode: 'array',
    })
    const [answer] = rows[0] as [string | null]
    return answer === null ? null : Number(answer.split(',')[1])
  }
  expect(await enterOld(1)).toBe(0)
  await driver.setup?.()
  expect(await enterOld(1), 'the same session goes on').toBe(1)
  const upgrading = entry(line, 500_001)
  const place = await driver.enter(upgrading, true)
  expect(place !== null && isGranted(upgrading, place)).toBe(true)
  expect(await enterOld(1), 'readers come in beside it').not.toBeNull()
  const raised = await driver.reweigh?.({ ...upgrading, weight: CAPACITY }, 1)
  expect(raised?.ahead).toBe(3)
  expect(await enterOld(1), 'and no more, from here on').toBeNull()
  await driver.close()
})

test('the migration that is printed can be run again and again', async () => {
  const admin = await bench.connect()
  for (let i = 0; i < 2; i++) await admin.query(postgresMigration())
  const { rows } = await admin.query({ text: 'SELECT version FROM holdfast_meta', rowMode: 'array' })
  expect(rows).toEqual([[6]])
})
