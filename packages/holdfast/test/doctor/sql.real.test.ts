/** PostgreSQL and MariaDB, configured wrongly, each in one way. */
import { createConnection } from 'mysql2/promise'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { holdfast } from '../../src/index.ts'
import { requireServers, skipped } from '../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../holdfast-lab/src/testbed/testbed.ts'
import { ills } from './found.ts'

let bed: Testbed
let postgres: Server

beforeAll(async () => {
  await requireServers(['postgres', 'pgbouncer', 'mariadb'])
  bed = await testbed()
  if (skipped('postgres')) return
  postgres = await bed.postgres({ durable: true, config: { wal_level: 'replica' } })
  await using hf = await holdfast(postgres.url)
  await hf.setup()
}, 120_000)
afterAll(() => bed?.close())

async function psql(sql: string): Promise<void> {
  const client = new Client({ connectionString: postgres.url })
  await client.connect()
  await client.query(sql)
  await client.end()
}

async function asUser(name: string): Promise<Record<string, string>> {
  return ills(postgres.url.replace('postgres@', `${name}@`))
}

test.skipIf(skipped('postgres'))('PostgreSQL as it should be; commits that do not last; time-outs', async () => {
  expect(await ills(postgres.url)).toEqual({})
  await psql('CREATE ROLE careless LOGIN SUPERUSER')
  await psql('ALTER ROLE careless SET synchronous_commit = off')
  await psql("ALTER ROLE careless SET statement_timeout = '900ms'")
  await psql("ALTER ROLE careless SET lock_timeout = '1s'")
  await psql("ALTER ROLE careless SET idle_in_transaction_session_timeout = '2s'")
  await psql("ALTER ROLE careless SET idle_session_timeout = '3s'")
  expect(await asUser('careless')).toMatchObject({
    'postgres.synchronous_commit': 'danger',
    'postgres.statement_timeout': 'warning',
    'postgres.lock_timeout': 'warning',
    'postgres.idle_in_transaction_session_timeout': 'warning',
    'postgres.idle_session_timeout': 'warning',
  })
})

test.skipIf(skipped('postgres'))('a user without rights gets no lock, and is told', async () => {
  await psql('CREATE ROLE nobody_special LOGIN')
  expect(await asUser('nobody_special')).toMatchObject({ lock: 'danger' })
})

test.skipIf(skipped('postgres'))('fsync off, a standby, and a primary that does not wait for it', async () => {
  const careless = await bed.postgres({ config: { wal_level: 'replica' } })
  expect(await ills(careless.url)).toMatchObject({ 'postgres.fsync': 'danger' })
  const standby = await bed.postgres({ standbyOf: careless, config: { hot_standby: 'on' } })
  expect(await ills(standby.url)).toMatchObject({ 'postgres.role': 'danger' })
  await expect.poll(async () => (await ills(careless.url))['postgres.standbys']).toBe('warning')
})

test.skipIf(skipped('postgres') || skipped('pgbouncer'))('a pooler in transaction mode', async () => {
  const pooler = await bed.pgbouncer(postgres)
  expect(await ills(pooler.url)).toMatchObject({ 'postgres.pooler': 'warning' })
  expect(await ills(`${pooler.url}?listenUrl=${encodeURIComponent(postgres.url)}`)).not.toHaveProperty(
    'postgres.pooler',
  )
})

test.skipIf(skipped('mariadb'))(
  'MariaDB: autocommit, isolation, short connections, commits that do not last, read-only',
  async () => {
    const server = await bed.mariadb({ durable: true })
    {
      await using hf = await holdfast(server.url)
      await hf.setup()
    }
    expect(await ills(server.url)).toEqual({})
    const admin = await createConnection({ uri: server.url })
    const set = async (what: string): Promise<void> => void (await admin.query(`SET GLOBAL ${what}`))
    await set('autocommit = 0')
    await set('wait_timeout = 10')
    await set('innodb_flush_log_at_trx_commit = 0')
    await set('tx_isolation = SERIALIZABLE'.replace('SERIALIZABLE', "'SERIALIZABLE'"))
    expect(await ills(server.url)).toMatchObject({
      'mysql.autocommit': 'note',
      'mysql.wait_timeout': 'warning',
      'mysql.durability': 'warning',
      'mysql.isolation': 'note',
    })
    await set('read_only = 1')
    expect(await ills(server.url)).toMatchObject({ 'mysql.role': 'danger' })
    await admin.query("CREATE USER 'poor'@'%'")
    await set('read_only = 0')
    expect(await ills(server.url.replace('root@', 'poor@'))).toMatchObject({ lock: 'danger' })
    await admin.end()
  },
)
