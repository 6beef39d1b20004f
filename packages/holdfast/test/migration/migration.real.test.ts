/** Migrations of two replicas, with knex's own migration tool: one after the other, each once. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import knex from 'knex'
import { expect, test } from 'vitest'
import { AcquireTimeoutError, UsageError } from '../../src/index.ts'
import { withMigrationLock } from '../../src/migration/index.ts'
import { usePostgres } from '../stores/postgres/server.ts'

const bench = usePostgres()
const CLI = fileURLToPath(new URL('../../dist/cli.cjs', import.meta.url))
const KNEX = fileURLToPath(new URL('../../../../node_modules/knex/bin/cli.js', import.meta.url))
const run = promisify(execFile)

/** A migration without a lock of the tool's own: twice at once it would fail, or count twice. */
const source = {
  getMigrations: async () => ['count'],
  getMigrationName: (name: string) => name,
  getMigration: async () => ({
    up: async (db: knex.Knex) => {
      await db.raw('CREATE TABLE IF NOT EXISTS ran (n int)')
      await new Promise((resolve) => setTimeout(resolve, 200))
      await db.raw('INSERT INTO ran VALUES (1)')
    },
    down: async () => undefined,
  }),
}

test('two replicas migrate with withMigrationLock: the second finds nothing to do', async () => {
  const migrate = async (): Promise<string[]> => {
    const db = knex({ client: 'pg', connection: bench.url })
    try {
      return await withMigrationLock(bench.url, async () => {
        const [, done] = (await db.migrate.latest({
          migrationSource: source,
          disableMigrationsListValidation: true,
        })) as [number, string[]]
        return done
      })
    } finally {
      await db.destroy()
    }
  }
  const done = await Promise.all([migrate(), migrate()])
  expect(done.flat()).toEqual(['count'])
})

test('the work may fail, others are told apart by name, and waiting may end', async () => {
  const fault = new Error('of the migration')
  await expect(withMigrationLock(bench.url, () => Promise.reject(fault))).rejects.toBe(fault)
  await withMigrationLock(bench.url, async () => {
    expect(await withMigrationLock(bench.url, () => 'another', { name: 'another' })).toBe('another')
    await expect(withMigrationLock(bench.url, () => 1, { waitMs: 0 })).rejects.toBeInstanceOf(AcquireTimeoutError)
  })
  await expect(withMigrationLock('redis://localhost', () => 1)).rejects.toBeInstanceOf(UsageError)
})

test('holdfast run migrate --store postgres://… -- knex migrate:latest, in two replicas', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-migrate-'))
  const migration = `exports.up = async (db) => {
    await db.raw('CREATE TABLE one_liner (n int)')
    await new Promise((resolve) => setTimeout(resolve, 300))
    await db.raw('INSERT INTO one_liner VALUES (1)')
  }
  exports.down = async () => {}`
  await writeFile(join(folder, '001_one_liner.cjs'), migration)
  const options = ['--client', 'pg', '--connection', bench.url, '--migrations-directory', folder]
  const tool = [KNEX, 'migrate:latest', ...options, '--migrations-table-name', 'ran_by_knex']
  await run(process.execPath, [CLI, 'migrate', '--store', bench.url])
  const replica = (): Promise<unknown> =>
    run(process.execPath, [CLI, 'run', 'migrate', '--store', bench.url, '--', process.execPath, ...tool])
  await Promise.all([replica(), replica()])
  const db = await bench.connect()
  expect((await db.query({ text: 'SELECT n FROM one_liner', rowMode: 'array' })).rows).toEqual([[1]])
  await rm(folder, { recursive: true })
})
