/** A session over `mysql2`: a pool of our own, or the user's. */
import type * as Mysql2 from 'mysql2/promise'
import { StoreUnreachableError } from '../../core/errors.ts'
import { missingClient } from '../sql/missing.ts'
import type { MysqlConnection, MysqlPool, MysqlPromisePool } from './clients.ts'

export type Value = string | number | Buffer | null

export interface SessionOptions {
  readonly timeoutMs: number
  readonly connections: number
}

/** Deadlock and lock wait: the procedure's handler has rolled back, and the connection is as good as before. */
const HARMLESS = new Set([1213, 1205])

export class MysqlSession {
  readonly #open: () => Promise<MysqlPromisePool>
  readonly #end: () => Promise<void>
  readonly #timeoutMs: number
  #pool: MysqlPromisePool | null = null

  constructor(open: () => Promise<MysqlPromisePool>, end: () => Promise<void>, timeoutMs: number) {
    this.#open = open
    this.#end = end
    this.#timeoutMs = timeoutMs
  }

  /** One prepared statement, one round trip; the rows of its first result, as arrays. */
  run(sql: string, values: Value[]): Promise<unknown[][]> {
    return this.#with((connection) => connection.execute({ sql, values, rowsAsArray: true })).then(firstRows)
  }

  /** These statements one after another on one connection. */
  script(statements: readonly string[]): Promise<void> {
    return this.#with(async (connection) => {
      for (const sql of statements) await connection.query({ sql, rowsAsArray: true })
      return []
    }).then(nothing)
  }

  close(): Promise<void> {
    return this.#end()
  }

  async #with(act: (connection: MysqlConnection) => Promise<unknown[]>): Promise<unknown[]> {
    this.#pool ??= await this.#open()
    const getting = this.#pool.getConnection()
    // If it comes after we gave up on it, it goes back unused.
    const connection = await this.#answer(getting, () => getting.then((late) => late.release(), nothing))
    try {
      const rows = await this.#answer(act(connection), () => connection.destroy())
      connection.release()
      return rows
    } catch (error) {
      // A statement that was killed may have left its transaction open, and row locks with it: such a connection must not live on.
      if (HARMLESS.has((error as { readonly errno?: number }).errno ?? 0)) connection.release()
      else connection.destroy()
      throw error
    }
  }

  async #answer<T>(promise: Promise<T>, giveUp: () => unknown): Promise<T> {
    let timer: NodeJS.Timeout | undefined
    const silence = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        void giveUp()
        reject(new StoreUnreachableError(`mysql gave no answer within ${this.#timeoutMs} ms`))
      }, this.#timeoutMs)
    })
    try {
      return await Promise.race([promise, silence])
    } finally {
      clearTimeout(timer)
    }
  }
}

function nothing(): void {}

/** A procedure answers with its result sets and an OK; a procedure without results with the OK alone. */
function firstRows([result]: unknown[]): unknown[][] {
  if (!Array.isArray(result)) return []
  const sets = result.filter((set) => Array.isArray(set) && (set.length === 0 || Array.isArray(set[0])))
  return (sets.length > 0 ? sets[0] : result.filter(Array.isArray)) as unknown[][]
}

/** A pool of our own, made when it is first needed. */
export function openMysql(url: string, options: SessionOptions): MysqlSession {
  let opened: Promise<Mysql2.Pool> | null = null
  const open = async (): Promise<Mysql2.Pool> => {
    const { createPool } = await loadMysql()
    const pool = createPool({
      uri: url,
      connectionLimit: options.connections,
      connectTimeout: options.timeoutMs,
      enableKeepAlive: true,
      supportBigNumbers: true,
      bigNumberStrings: true,
    })
    // An idle pool must not keep the process from ending; who awaits an answer has a timer that does.
    const { pool: core } = pool as unknown as { pool: NodeJS.EventEmitter }
    core.on('connection', (connection: { stream?: { unref?(): void }; on(event: string, fn: () => void): void }) => {
      connection.stream?.unref?.()
      connection.on('error', nothing)
    })
    return pool
  }
  return new MysqlSession(
    async () => (await (opened ??= open())) as unknown as MysqlPromisePool,
    async () => (await opened)?.end(),
    options.timeoutMs,
  )
}

/** A pool that was given stays open. */
export function givenMysql(pool: MysqlPool, timeoutMs: number): MysqlSession {
  const promising = 'promise' in pool && typeof pool.promise === 'function' ? pool.promise() : pool
  return new MysqlSession(
    async () => promising as MysqlPromisePool,
    async () => {},
    timeoutMs,
  )
}

export async function loadMysql(): Promise<typeof Mysql2> {
  try {
    return await import('mysql2/promise')
  } catch (error) {
    throw missingClient('mysql2', error)
  }
}
