/** Session locks on PostgreSQL: `pg_advisory_lock` on 64 bits of the name's hash. */
import type { Client } from 'pg'
import { checkKeys, checkWhole } from '../../core/check.ts'
import { StoreUnreachableError, UsageError } from '../../core/errors.ts'
import { type LockSession, ServerLocks, type SessionLocks } from '../sql/session-locks.ts'
import { Watchdog } from '../sql/watchdog.ts'
import { toStoreError } from './failure.ts'
import { loadPg } from './pg-session.ts'
import { lockKey } from './transaction.ts'

export interface SessionLocksOptions {
  /** How often a connection that holds is asked whether it lives. Default 5 000; 100 to 600 000. */
  readonly keepAliveMs?: number
  /** How long an answer may take before the connection counts as lost. Default 5 000; 1 to 600 000. */
  readonly timeoutMs?: number
}

/**
 * Locks that end with the connection that holds them, and not before: a holder that is stopped blocks all others. The URL must lead to the server
 * itself; a transaction pooler is noticed and refused. These holds, those of `lockInTransaction` with the same name, and no others exclude each other.
 */
export function sessionLocks(url: string | URL, options: SessionLocksOptions = {}): SessionLocks {
  checkKeys('sessionLocks options', options, ['keepAliveMs', 'timeoutMs'])
  const { keepAliveMs = 5_000, timeoutMs = 5_000 } = options
  checkWhole('keepAliveMs', keepAliveMs, 100, 600_000)
  checkWhole('timeoutMs', timeoutMs, 1, 600_000)
  return new ServerLocks({
    open: () => openSession(String(url), keepAliveMs, timeoutMs),
    keyOf: (name) => String(lockKey(name)),
    keepAliveMs,
  })
}

async function openSession(connectionString: string, keepAliveMs: number, timeoutMs: number): Promise<LockSession> {
  const pg = await loadPg()
  const client = new pg.Client({
    connectionString,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    connectionTimeoutMillis: timeoutMs,
    application_name: 'holdfast session',
    pipeline: true,
  })
  const session = new PgLockSession(client, timeoutMs)
  try {
    await client.connect()
    await session.prepare(keepAliveMs, timeoutMs)
    return session
  } catch (error) {
    session.end()
    throw toStoreError(error)
  }
}

class PgLockSession implements LockSession {
  readonly #client: Client
  readonly #watchdog: Watchdog
  readonly #listeners: ((cause: unknown) => void)[] = []
  isOpen = true

  constructor(client: Client, timeoutMs: number) {
    this.#client = client
    this.#watchdog = new Watchdog(timeoutMs, () =>
      this.#broke(new StoreUnreachableError(`postgres gave no answer within ${timeoutMs} ms`)),
    )
    client.on('error', (error: unknown) => this.#broke(error))
    client.on('end', () => this.#broke(new StoreUnreachableError('postgres: the connection was closed')))
  }

  /**
   * The server has to notice a dead peer, too, or the lock stays: keepalive for a quiet line, and tcp_user_timeout for one with an
   * answer that was never acknowledged, during which keepalive rests.
   */
  async prepare(keepAliveMs: number, timeoutMs: number): Promise<void> {
    const seconds = Math.max(1, Math.ceil(keepAliveMs / 1_000))
    await this.#ask(
      `SELECT set_config(name, setting, false) FROM (VALUES ('tcp_keepalives_idle', '${seconds}'), ('tcp_keepalives_interval', '1'),
        ('tcp_keepalives_count', '${Math.max(2, Math.ceil(timeoutMs / 1_000))}'), ('tcp_user_timeout', '${keepAliveMs + timeoutMs}'),
        ('client_connection_check_interval', '${keepAliveMs}'), ('idle_session_timeout', '0'), ('lock_timeout', '0'), ('statement_timeout', '0')
      ) AS s (name, setting) WHERE EXISTS (SELECT FROM pg_settings p WHERE p.name = s.name)`,
    )
    const [row] = await this.#ask('SELECT pg_backend_pid()')
    // A pooler tells a number of its own: behind it, lock and unlock may reach different sessions.
    if (Number(row?.[0]) !== this.#client.processID) {
      throw new UsageError('session locks need a connection to the server itself, and a pooler is in between')
    }
  }

  async tryLock(key: string): Promise<boolean> {
    const [row] = await this.#ask('SELECT pg_try_advisory_lock($1::bigint)', [key], 'holdfast_try')
    return row?.[0] === true
  }

  async lock(key: string): Promise<void> {
    this.#client.ref()
    try {
      await this.#client.query({ text: 'SELECT pg_advisory_lock($1::bigint)', values: [key] })
    } catch (error) {
      throw toStoreError(error)
    } finally {
      this.#client.unref()
    }
  }

  async unlock(key: string): Promise<boolean> {
    const [row] = await this.#ask('SELECT pg_advisory_unlock($1::bigint)', [key], 'holdfast_unlock')
    return row?.[0] === true
  }

  async ping(): Promise<void> {
    await this.#ask('SELECT 1')
  }

  onLost(lost: (cause: unknown) => void): void {
    this.#listeners.push(lost)
  }

  end(): void {
    this.#broke(new StoreUnreachableError('postgres: the connection was closed'))
  }

  async #ask(text: string, values: readonly unknown[] = [], name?: string): Promise<unknown[][]> {
    if (this.#watchdog.load === 0) this.#client.ref()
    this.#watchdog.asked()
    try {
      const query = { text, values, rowMode: 'array' as const }
      return (await this.#client.query(name === undefined ? query : { ...query, name })).rows
    } catch (error) {
      throw toStoreError(error)
    } finally {
      this.#watchdog.answered()
      if (this.#watchdog.load === 0) this.#client.unref()
    }
  }

  #broke(cause: unknown): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.#watchdog.stop()
    this.#client.connection.stream.destroy()
    for (const lost of this.#listeners) lost(cause)
  }
}
