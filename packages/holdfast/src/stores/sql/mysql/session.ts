/** A session over `mysql2`: connections of our own, or the user's pool. Every call settles in time. */
import type * as Mysql2 from 'mysql2'
import { answerWithin } from '../sql/deadline.ts'
import { missingClient } from '../sql/missing.ts'
import type { MysqlConnection, MysqlPool, MysqlPromisePool } from './clients.ts'
import { type Ear, type LanesOptions, MysqlLanes } from './lanes.ts'
import { type Reply, type Seat, toReply, type Value } from './reply.ts'

export interface MysqlSession {
  /** One prepared statement, one round trip; by that seat, if it is given and still open. */
  run(sql: string, values: Value[], seat?: Seat): Promise<Reply>
  /** Statements one after another on one connection. */
  script(work: (run: (sql: string) => Promise<Reply>) => Promise<void>): Promise<void>
  /** A connection of its own for statements that wait; null where the connections are the user's. */
  ear: ((timeoutMs: number) => Promise<Ear>) | null
  close(): Promise<void>
}

/** Deadlock and lock wait: the procedure's handler has rolled back, and the connection is as good as before. */
const HARMLESS = new Set([1213, 1205])
const SCRIPT_MS = 60_000

/** Connections of our own, made when they are first needed. */
export function openMysql(url: string, options: LanesOptions): MysqlSession {
  const lanes = new MysqlLanes(loadMysql, url, options)
  return {
    run: (sql, values, seat) => lanes.run(sql, values, seat),
    async script(work) {
      const own = await lanes.own(SCRIPT_MS, true)
      try {
        await work((sql) => own.run(sql, []))
      } finally {
        own.close()
      }
    },
    ear: (timeoutMs) => lanes.own(timeoutMs, false),
    close: () => lanes.close(),
  }
}

/** A pool that was given stays open. */
export function givenMysql(pool: MysqlPool, timeoutMs: number): MysqlSession {
  const given = ('promise' in pool && typeof pool.promise === 'function' ? pool.promise() : pool) as MysqlPromisePool
  return {
    run: (sql, values) =>
      withConnection(given, timeoutMs, async (connection) => {
        const [result] = await connection.execute({ sql, values, rowsAsArray: true })
        return toReply(result, null)
      }),
    script: (work) =>
      withConnection(given, SCRIPT_MS, (connection) =>
        work(async (sql) => {
          const [result] = await connection.query({ sql, rowsAsArray: true })
          return toReply(result, null)
        }),
      ),
    ear: null,
    async close() {},
  }
}

async function withConnection<T>(
  pool: MysqlPromisePool,
  timeoutMs: number,
  act: (connection: MysqlConnection) => Promise<T>,
): Promise<T> {
  const getting = pool.getConnection()
  let connection: MysqlConnection
  try {
    connection = await answerWithin(getting, timeoutMs, 'mysql')
  } catch (error) {
    // If it comes after we gave up on it, it goes back unused.
    getting.then((late) => late.release(), nothing)
    throw error
  }
  try {
    const answer = await answerWithin(act(connection), timeoutMs, 'mysql')
    connection.release()
    return answer
  } catch (error) {
    // A statement that was killed may have left its transaction open, and row locks with it: such a connection must not live on.
    if (HARMLESS.has((error as { readonly errno?: number }).errno ?? 0)) connection.release()
    else connection.destroy()
    throw error
  }
}

function nothing(): void {}

export async function loadMysql(): Promise<typeof Mysql2> {
  try {
    const loaded = (await import('mysql2')) as typeof Mysql2 & { readonly default?: typeof Mysql2 }
    return loaded.default ?? loaded
  } catch (error) {
    throw missingClient('mysql2', error)
  }
}
