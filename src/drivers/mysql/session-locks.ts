/** Session locks on MySQL and MariaDB: `GET_LOCK` on a hash of the name, since names are cut and folded differently by the two. */
import { createHash } from 'node:crypto'
import type { Connection, QueryError } from 'mysql2'
import { checkKeys, checkWhole } from '../../core/check.ts'
import { StoreError, StoreUnreachableError, UsageError } from '../../core/errors.ts'
import { type LockSession, ServerLocks, type SessionLocks } from '../sql/session-locks.ts'
import { Watchdog } from '../sql/watchdog.ts'
import { toStoreError } from './failure.ts'
import type { Value } from './reply.ts'
import { loadMysql } from './session.ts'

export interface SessionLocksOptions {
  /** How often a connection that holds is asked whether it lives. Default 5 000; 100 to 600 000. */
  readonly keepAliveMs?: number
  /** How long an answer may take before the connection counts as lost. Default 5 000; 1 to 600 000. */
  readonly timeoutMs?: number
}

/** A year: "for ever" is said differently by the two servers. */
const FOREVER_S = 31_536_000

/**
 * Locks that end with the connection that holds them, and not before: a holder that is stopped blocks all others. The URL must lead to the server
 * itself; a proxy that tells another connection's number is refused. Galera has none of these locks.
 */
export function sessionLocks(url: string | URL, options: SessionLocksOptions = {}): SessionLocks {
  checkKeys('sessionLocks options', options, ['keepAliveMs', 'timeoutMs'])
  const { keepAliveMs = 5_000, timeoutMs = 5_000 } = options
  checkWhole('keepAliveMs', keepAliveMs, 100, 600_000)
  checkWhole('timeoutMs', timeoutMs, 1, 600_000)
  return new ServerLocks({
    open: () => openSession(String(url), keepAliveMs, timeoutMs),
    // Names are server-wide, and of 64 characters at most.
    keyOf: (name) => `holdfast:${createHash('sha256').update(name).digest('hex').slice(0, 48)}`,
    keepAliveMs,
  })
}

async function openSession(uri: string, keepAliveMs: number, timeoutMs: number): Promise<LockSession> {
  const mysql2 = await loadMysql()
  const connection = mysql2.createConnection({
    uri,
    connectTimeout: timeoutMs,
    enableKeepAlive: true,
    keepAliveInitialDelay: keepAliveMs,
  })
  const session = new MysqlLockSession(connection, timeoutMs)
  try {
    await session.prepare(keepAliveMs, timeoutMs)
    return session
  } catch (error) {
    session.end()
    throw toStoreError(error)
  }
}

class MysqlLockSession implements LockSession {
  readonly #connection: Connection
  readonly #watchdog: Watchdog
  readonly #listeners: ((cause: unknown) => void)[] = []
  readonly #owed = new Set<(cause: unknown) => void>()
  isOpen = true

  constructor(connection: Connection, timeoutMs: number) {
    this.#connection = connection
    this.#watchdog = new Watchdog(timeoutMs, () =>
      this.#broke(new StoreUnreachableError(`mysql gave no answer within ${timeoutMs} ms`)),
    )
    connection.on('error', (error: unknown) => this.#broke(error))
    connection.on('end', () => this.#broke(new StoreUnreachableError('mysql: the connection was closed')))
  }

  /** The server ends a session that is silent for so long, and frees its locks; by default that is eight hours. */
  async prepare(keepAliveMs: number, timeoutMs: number): Promise<void> {
    const silenceS = Math.max(2, Math.ceil((2 * keepAliveMs + timeoutMs) / 1_000))
    await this.#ask(`SET SESSION wait_timeout = ${silenceS}`, [])
    const id = await this.#ask('SELECT CONNECTION_ID()', [])
    if (Number(id) !== this.#connection.threadId) {
      throw new UsageError('session locks need a connection to the server itself, and a proxy is in between')
    }
  }

  async tryLock(key: string): Promise<boolean> {
    const got = await this.#ask('SELECT GET_LOCK(?, 0)', [key])
    if (got === null) throw new StoreError('mysql: GET_LOCK failed on the server')
    return Number(got) === 1
  }

  async lock(key: string): Promise<void> {
    this.#hold(true)
    try {
      const got = await this.#query('SELECT GET_LOCK(?, ?)', [key, FOREVER_S])
      if (Number(got) !== 1) throw new StoreError('mysql: GET_LOCK failed on the server')
    } catch (error) {
      throw toStoreError(error)
    } finally {
      this.#hold(false)
    }
  }

  async unlock(key: string): Promise<boolean> {
    return Number(await this.#ask('SELECT RELEASE_LOCK(?)', [key])) === 1
  }

  async ping(): Promise<void> {
    await this.#ask('SELECT 1', [])
  }

  onLost(lost: (cause: unknown) => void): void {
    this.#listeners.push(lost)
  }

  end(): void {
    this.#broke(new StoreUnreachableError('mysql: the connection was closed'))
  }

  async #ask(sql: string, values: Value[]): Promise<unknown> {
    if (this.#watchdog.load === 0) this.#hold(true)
    this.#watchdog.asked()
    try {
      return await this.#query(sql, values)
    } catch (error) {
      throw toStoreError(error)
    } finally {
      this.#watchdog.answered()
      if (this.#watchdog.load === 0) this.#hold(false)
    }
  }

  /** The first column of the first row. */
  #query(sql: string, values: Value[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const done = (error: QueryError | null, rows: unknown): void => {
        this.#owed.delete(reject)
        if (error === null) resolve(Array.isArray(rows) ? (rows as unknown[][])[0]?.[0] : null)
        else reject(error)
      }
      if (!this.isOpen) {
        reject(new StoreUnreachableError('mysql: the connection was closed'))
        return
      }
      // Destroyed, a connection calls nobody back.
      this.#owed.add(reject)
      if (values.length === 0) this.#connection.query({ sql, rowsAsArray: true }, done)
      else this.#connection.execute({ sql, values, rowsAsArray: true }, done)
    })
  }

  #hold(isHeld: boolean): void {
    const { stream } = this.#connection as unknown as { readonly stream?: { ref?(): void; unref?(): void } }
    if (isHeld) stream?.ref?.()
    else stream?.unref?.()
  }

  #broke(cause: unknown): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.#watchdog.stop()
    this.#connection.destroy()
    for (const reject of this.#owed) reject(cause)
    for (const lost of this.#listeners) lost(cause)
  }
}
