/**
 * TLS to both servers, by URL alone: the certificate and the name are checked, and a server that can't prove itself is
 * refused.
 */
import { chmod, chown, copyFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createConnection } from 'mysql2/promise'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { StoreError, UsageError } from '../../../src/contract/errors.ts'
import { sessionLocks } from '../../../src/stores/mysql/index.ts'
import { postgres as postgresStore } from '../../../src/stores/postgres/index.ts'
import { type Holdfast, holdfast } from '../../../src/index.ts'
import { requireServers, requireTools } from '../../../../holdfast-lab/src/testbed/require.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import { otherUser } from '../../../../holdfast-lab/src/testbed/user.ts'

let bed: Testbed
let mysqlUrl: string
let postgresUrl: string
let ca: string

beforeAll(async () => {
  await requireServers(['mariadb', 'postgres'])
  await requireTools(['certificates'])
  bed = await testbed()
  const identity = await bed.certificate('sql')
  ca = identity.caFile
  const mine = await keyFor('mysql', identity)
  const theirs = await keyFor('postgres', identity)
  const mariadb = await bed.mariadb({ config: { 'ssl-ca': mine.ca, 'ssl-cert': mine.cert, 'ssl-key': mine.key } })
  const postgres = await bed.postgres({
    config: {
      listen_addresses: '127.0.0.1,127.0.0.2',
      ssl: 'on',
      ssl_cert_file: theirs.cert,
      ssl_key_file: theirs.key,
    },
  })
  mysqlUrl = mariadb.url
  postgresUrl = postgres.url
  const admin = await createConnection(mysqlUrl)
  await admin.query("CREATE USER tls@'127.0.0.1' REQUIRE SSL")
  await admin.query("GRANT ALL ON *.* TO tls@'127.0.0.1'")
  await admin.end()
}, 600_000)
afterAll(() => bed?.close())

/** The servers run as users of their own, and take a key only if nobody else can read it. */
async function keyFor(
  user: string,
  { caFile, certFile, keyFile }: { caFile: string; certFile: string; keyFile: string },
): Promise<{ ca: string; cert: string; key: string }> {
  const dir = join(bed.dir, `keys-${user}`)
  await mkdir(dir, { mode: 0o755 })
  const [ca, cert, key] = [join(dir, 'ca.pem'), join(dir, 'cert.pem'), join(dir, 'key.pem')]
  await copyFile(caFile, ca)
  await copyFile(certFile, cert)
  await copyFile(keyFile, key)
  const other = await otherUser(user, 'nobody')
  await chmod(key, 0o600)
  if (other !== null && other !== undefined) for (const file of [ca, cert, key]) await chown(file, other.uid, other.gid)
  return { ca, cert, key }
}

async function works(url: string, open: (url: string) => Promise<Holdfast> = holdfast): Promise<void> {
  const [a, b] = [await open(url), await open(url)]
  try {
    await a.setup()
    const held = await a.mutex('secret').acquire()
    expect(await b.mutex('secret').tryAcquire()).toBeNull()
    const next = b.mutex('secret').acquire()
    expect(await held.release()).toBe(true)
    await (await next).release()
  } finally {
    await a.close()
    await b.close()
  }
}

const secure = (): string => mysqlUrl.replace('mysql://root@', 'mysqls://tls@')

test('mysqls: with the authority by file, for a user who must come over TLS', async () => {
  await works(`${secure()}?ca=${encodeURIComponent(ca)}`)
  await using locks = sessionLocks(`${secure()}?ca=${encodeURIComponent(ca)}`)
  await (await locks.acquire('secret')).release()
})

test('mysqls: without that authority is refused, so are files with mysql:, and files that are missing', async () => {
  const hf = await holdfast(secure())
  await expect(hf.mutex('secret', { ttlMs: 500 }).acquire()).rejects.toBeInstanceOf(StoreError)
  await hf.close()
  await expect(holdfast(`${mysqlUrl}?ca=${encodeURIComponent(ca)}`)).rejects.toBeInstanceOf(UsageError)
  await expect(holdfast(`${secure()}?ca=/nowhere/at/all`)).rejects.toBeInstanceOf(UsageError)
})

test('postgres: sslmode=verify-full with sslrootcert; without that authority it is refused', async () => {
  await works(`${postgresUrl}?sslmode=verify-full&sslrootcert=${encodeURIComponent(ca)}`)
  await works(`${postgresUrl}?sslmode=no-verify`)
  const hf = await holdfast(`${postgresUrl}?sslmode=verify-full`)
  await expect(hf.mutex('secret', { ttlMs: 500 }).acquire()).rejects.toBeInstanceOf(StoreError)
  await hf.close()
})

test('postgres, by the package postgres: the same, and a name that the certificate lacks is refused', async () => {
  const open = (url: string): Promise<Holdfast> => holdfast(postgresStore(url, { client: 'postgres' }))
  const files = `sslrootcert=${encodeURIComponent(ca)}`
  const byName = postgresUrl.replace('127.0.0.1', 'localhost')
  const admin = new Client({ connectionString: postgresUrl })
  await admin.connect()
  await works(`${postgresUrl}?sslmode=verify-full&${files}`, open)
  await works(`${byName}?sslmode=verify-full&${files}`, open)
  await works(`${postgresUrl}?sslmode=no-verify`, open)
  const hf = await open(`${postgresUrl}?sslmode=verify-full&${files}`)
  await hf.mutex('seen').acquire()
  const { rows } = await admin.query(
    'SELECT bool_and(ssl) AS secure FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = ' +
      "'holdfast'",
  )
  expect(rows).toEqual([{ secure: true }])
  await hf.close()
  await admin.end()
  for (const url of [
    `${postgresUrl}?sslmode=verify-full`,
    `${postgresUrl.replace('127.0.0.1', '127.0.0.2')}?sslmode=verify-full&${files}`,
  ]) {
    const refused = await open(url)
    await expect(refused.mutex('secret', { ttlMs: 500 }).acquire()).rejects.toBeInstanceOf(StoreError)
    await refused.close()
  }
  expect(() =>
    postgresStore(`${postgresUrl}?sslmode=verify-full&sslrootcert=/nowhere/at/all`, { client: 'postgres' }),
  ).toThrow(UsageError)
  expect(() => postgresStore(`${postgresUrl}?sslmode=often`, { client: 'postgres' })).toThrow(UsageError)
})
