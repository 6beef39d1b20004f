/** A MariaDB server (MySQL where HOLDFAST_TEST_SERVERS gives one) for one test file, and plain connections to it. */
import { createConnection } from 'mysql2/promise'
import { afterAll, beforeAll } from 'vitest'
import type { MariadbOptions } from '../../../../holdfast-lab/src/testbed/mariadb.ts'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'

/** A connection of its own: runs one statement at a time, rows as arrays. */
export interface Plain {
  ask(sql: string, values?: (string | number | Buffer)[]): Promise<unknown[][]>
}

export interface Bench {
  readonly server: Server
  readonly url: string
  connect(url?: string): Promise<Plain>
}

/** Started before the first test of the file, stopped after the last. */
export function useMariadb(options?: MariadbOptions): Bench {
  let bed: Testbed
  let server: Server
  const closers: (() => void)[] = []
  beforeAll(async () => {
    await requireServers(['mariadb'])
    bed = await testbed()
    server = await bed.mariadb(options)
  }, 600_000)
  afterAll(async () => {
    for (const close of closers) close()
    await bed?.close()
  })
  return {
    get server() {
      return server
    },
    get url() {
      return server.url
    },
    async connect(url = server.url) {
      const connection = await createConnection({ uri: url, supportBigNumbers: true, bigNumberStrings: true })
      // A server that is restarted by a test breaks its connections; that is the test's doing.
      connection.on('error', () => {})
      closers.push(() => connection.destroy())
      return {
        async ask(sql, values = []) {
          const [result] = await connection.query({ sql, values, rowsAsArray: true })
          if (!Array.isArray(result)) return []
          const [first] = result as unknown[]
          const isNested = Array.isArray(first) && Array.isArray(first[0])
          return (isNested ? first : result) as unknown[][]
        },
      }
    },
  }
}

/** Asks until the first column of the first row is 1. */
export async function isTrue(plain: Plain, sql: string): Promise<void> {
  const end = performance.now() + 30_000
  for (;;) {
    const [[value] = []] = await plain.ask(sql)
    if (String(value) === '1') return
    if (performance.now() > end) throw new Error(`not true: ${sql}`)
    // InnoDB's tables about itself are read anew only after a tenth of a second without a reader.
    await new Promise((resolve) => setTimeout(resolve, 130))
  }
}

/** What MariaDB and MySQL call differently. */
export interface Words {
  /** Rows: who waits for a row lock. */
  readonly lockWaits: string
  /** The limit of a statement's time. */
  readonly limit: string
  /** Whether that limit cuts what writes; on MySQL it is for plain SELECTs only. */
  readonly cutsWrites: boolean
  /** Of that limit, one second. */
  readonly second: number
  /** One number: how many statements were cut short by it. */
  readonly exceeded: string
}

const MARIADB: Words = {
  lockWaits: 'information_schema.INNODB_LOCK_WAITS',
  limit: 'max_statement_time',
  cutsWrites: true,
  second: 1,
  exceeded:
    "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'MAX_STATEMENT_TIME_EXCEEDED'",
}

const MYSQL: Words = {
  lockWaits: 'performance_schema.data_lock_waits',
  limit: 'max_execution_time',
  cutsWrites: false,
  second: 1_000,
  exceeded:
    "SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Max_execution_time_exceeded'",
}

export async function wordsOf(plain: Plain): Promise<Words> {
  const [[version] = []] = await plain.ask('SELECT VERSION()')
  return /mariadb/i.test(String(version)) ? MARIADB : MYSQL
}

/** Resolves once somebody waits for a row lock on this server: the schedule is where it should be. */
export async function someoneWaits(observer: Plain): Promise<void> {
  const { lockWaits } = await wordsOf(observer)
  await isTrue(observer, `SELECT COUNT(*) > 0 FROM ${lockWaits}`)
}
