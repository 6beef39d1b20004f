/** Session locks on PostgreSQL: `pg_advisory_lock` on 64 bits of the name's hash. */
import { StoreUnreachableError, UsageError } from '../../../contract/errors.ts'
import { LockConnection, type LockWords } from '../lock-connection.ts'
import { type LockSession, makeSessionLocks, type SessionLocks, type SessionLocksOptions } from '../session-locks.ts'
import { toStoreError } from './errors.ts'
import { loadPg } from './pg-session.ts'
import { lockKey } from './transaction.ts'

const WORDS: LockWords = {
  tryLock: 'SELECT pg_try_advisory_lock($1::bigint)',
  // Answers nothing at all, which is not null.
  lock: 'SELECT pg_advisory_lock($1::bigint) IS NOT NULL',
  unlock: 'SELECT pg_advisory_unlock($1::bigint)',
  isYes: (answer) => answer === true,
}

/**
 * Locks that end with the connection that holds them, and not before: a holder that is stopped blocks all others. The
 * URL must lead to the server itself; a transaction pooler is noticed and refused. These holds, those of
 * `lockInTransaction` with the same name, and no others exclude each other.
 */
export function sessionLocks(url: string | URL, options: SessionLocksOptions = {}): SessionLocks {
  return makeSessionLocks(options, {
    open: (keepAliveMs, timeoutMs) => openSession(String(url), keepAliveMs, timeoutMs),
    keyOf: (name) => String(lockKey(name)),
    sharedMax: 1,
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
  const session = new LockConnection(
    {
      store: 'postgres',
      toStoreError,
      ask(text, values, answered) {
        // Prepared, once for each text.
        const named = values.length === 0 ? {} : { name: `holdfast ${text.slice(0, 50)}` }
        client.query({ ...named, text, values, rowMode: 'array' }).then(
          ({ rows }) => answered(null, rows[0]?.[0]),
          (error: unknown) => answered(error),
        )
      },
      hold: (isHeld) => (isHeld ? client.ref() : client.unref()),
      destroy: () => client.connection.stream.destroy(),
    },
    WORDS,
    timeoutMs,
  )
  client.on('error', (error: unknown) => session.broke(error))
  client.on('end', () => session.broke(new StoreUnreachableError('postgres: the connection was closed')))
  try {
    await client.connect()
    await prepare(session, client.processID, keepAliveMs, timeoutMs)
    return session
  } catch (error) {
    session.end()
    throw toStoreError(error)
  }
}

/**
 * The server has to notice a dead peer, too, or the lock stays: keepalive for a quiet line, and tcp_user_timeout for
 * one with an answer that was never acknowledged, during which keepalive rests.
 */
async function prepare(
  session: LockConnection,
  processId: number | null,
  keepAliveMs: number,
  timeoutMs: number,
): Promise<void> {
  const seconds = Math.max(1, Math.ceil(keepAliveMs / 1_000))
  await session.ask(
    `SELECT set_config(name, setting, false) FROM (VALUES
      ('tcp_keepalives_idle', '${seconds}'), ('tcp_keepalives_interval', '1'),
      ('tcp_keepalives_count', '${Math.max(2, Math.ceil(timeoutMs / 1_000))}'),
      ('tcp_user_timeout', '${keepAliveMs + timeoutMs}'), ('client_connection_check_interval', '${keepAliveMs}'),
      ('idle_session_timeout', '0'), ('lock_timeout', '0'), ('statement_timeout', '0'), ('transaction_timeout', '0')
    ) AS s (name, setting) WHERE EXISTS (SELECT FROM pg_settings p WHERE p.name = s.name)`,
  )
  // A pooler tells a number of its own: behind it, lock and unlock may reach different sessions.
  if (Number(await session.ask('SELECT pg_backend_pid()')) !== processId) {
    throw new UsageError('session locks need a connection to the server itself, and a pooler is in between')
  }
}
