/** A session over `mysql2`: connections of our own, or the user's pool. Every call settles in time. */
import type * as Mysql2 from 'mysql2'
import { UsageError } from '../../../contract/errors.ts'
import { answerWithin } from '../deadline.ts'
import { loadPeer } from '../../shared/peer.ts'
import { checkAutocommit, checkCommitted } from './autocommit.ts'
import { AS_SENT, type MysqlConnection, type MysqlPool, type MysqlPromisePool } from './clients.ts'
import { HARMLESS } from './errors.ts'
import { type Ear, type OwnPoolOptions, OwnMysqlPool } from './pool.ts'
import type { Reply, Session } from '../session.ts'
import { toReply, type Value } from './reply.ts'

export interface MysqlSession extends Session {
  /** Statements one after another on one connection. */
  script(work: (run: (sql: string) => Promise<Reply>) => Promise<void>): Promise<void>
  /** A connection of its own for statements that wait; null where the connections are the user's. */
  readonly ear: ((timeoutMs: number) => Promise<Ear>) | null
}

const SCRIPT_MS = 60_000

/** Connections of our own, made when they are first needed. */
export function openMysql(url: string, options: OwnPoolOptions): MysqlSession {
  const pool = new OwnMysqlPool(loadMysql, url, options)
  return {
    run: ({ text }, values, seat) => pool.run(text, values as Value[], seat),
    async script(work) {
      const own = await pool.own(SCRIPT_MS, true)
      try {
        await work((sql) => own.run(sql, []))
      } finally {
        own.close()
      }
    },
    ear: (timeoutMs) => pool.own(timeoutMs, false),
    close: () => pool.close(),
  }
}

/** A pool that was given stays open. */
export function givenMysql(pool: MysqlPool, timeoutMs: number): MysqlSession {
  const given = ('promise' in pool && typeof pool.promise === 'function' ? pool.promise() : pool) as MysqlPromisePool
  const checked = new WeakSet<object>()
  return {
    run: ({ text }, values) =>
      withConnection(given, checked, timeoutMs, async (connection) => {
        // What has no values is another text each time, and would be prepared, and kept, for that one time.
        const [result] =
          values.length === 0
            ? await connection.query({ ...AS_SENT, sql: text })
            : await connection.execute({ ...AS_SENT, sql: text, values: values as Value[] })
        checkCommitted(result)
        return toReply(result, null)
      }),
    script: (work) =>
      withConnection(given, checked, SCRIPT_MS, (connection) =>
        work(async (sql) => {
          const [result] = await connection.query({ ...AS_SENT, sql })
          return toReply(result, null)
        }),
      ),
    ear: null,
    async close() {},
  }
}

async function withConnection<T>(
  pool: MysqlPromisePool,
  checked: WeakSet<object>,
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
    await answerWithin(checkOnce(connection, checked), timeoutMs, 'mysql')
  } catch (error) {
    // As it was given: nothing was written.
    if (error instanceof UsageError) connection.release()
    else connection.destroy()
    throw error
  }
  try {
    const answer = await answerWithin(act(connection), timeoutMs, 'mysql')
    connection.release()
    return answer
  } catch (error) {
    // A statement that was killed may have left its transaction open, and row locks with it: such a connection must not
    // live on.
    if (HARMLESS.has((error as { readonly errno?: number }).errno ?? 0)) connection.release()
    else connection.destroy()
    throw error
  }
}

/** A pool of promises wraps its connections anew each time that it gives one. */
async function checkOnce(connection: MysqlConnection, checked: WeakSet<object>): Promise<void> {
  const itself = connection.connection ?? connection
  if (checked.has(itself)) return
  await checkAutocommit(connection)
  checked.add(itself)
}

function nothing(): void {}

export async function loadMysql(): Promise<typeof Mysql2> {
  return loadPeer('mysql2') as typeof Mysql2
}
