/**
 * Session locks on MySQL and MariaDB: `GET_LOCK` on a hash of the name, since names are cut and folded differently by
 * the two.
 */
import { hash } from 'node:crypto'
import { StoreError, StoreUnreachableError, UsageError } from '../../../contract/errors.ts'
import { LockConnection, type LockWords } from '../lock-connection.ts'
import { type LockSession, makeSessionLocks, type SessionLocks, type SessionLocksOptions } from '../session-locks.ts'
import { type Address, addressOf } from './address.ts'
import { ownSettings } from './autocommit.ts'
import { toStoreError } from './errors.ts'
import { loadMysql } from './session.ts'
import { Statements } from './statements.ts'

const WORDS: LockWords = {
  tryLock: 'SELECT GET_LOCK(?, 0)',
  // A year: "for ever" is said differently by the two servers.
  lock: 'SELECT GET_LOCK(?, 31536000)',
  unlock: 'SELECT RELEASE_LOCK(?)',
  isYes(answer) {
    if (answer === null) throw new StoreError('mysql: the server could not say whether it has that lock')
    return Number(answer) === 1
  },
}

/**
 * Locks that end with the connection that holds them, and not before: a holder that is stopped blocks all others. The
 * URL must lead to the server itself; a proxy that tells another connection's number is refused. Galera has none of
 * these locks.
 */
export function sessionLocks(url: string | URL, options: SessionLocksOptions = {}): SessionLocks {
  const address = addressOf(String(url))
  return makeSessionLocks(options, {
    open: (keepAliveMs, timeoutMs) => openSession(address, keepAliveMs, timeoutMs),
    // Names are server-wide, and of 64 characters at most.
    keyOf: (name) => `holdfast:${hash('sha256', name).slice(0, 48)}`,
    // A connection carries one statement at a time here: with a single one all holds of a process would wait for each
    // other.
    sharedMax: 8,
  })
}

async function openSession(address: Address, keepAliveMs: number, timeoutMs: number): Promise<LockSession> {
  const mysql2 = await loadMysql()
  const connection = mysql2.createConnection({
    ...address,
    connectTimeout: timeoutMs,
    enableKeepAlive: true,
    keepAliveInitialDelay: keepAliveMs,
    rowsAsArray: true,
  })
  const statements = new Statements(connection, () => session.heard())
  // Another one once the connection is encrypted.
  const stream = (): { ref?(): void; unref?(): void } | undefined =>
    (connection as unknown as { readonly stream?: { ref?(): void; unref?(): void } }).stream
  const session: LockConnection = new LockConnection(
    {
      store: 'mysql',
      toStoreError,
      ask(sql, values, answered) {
        const done = (error: unknown, rows?: unknown): void =>
          answered(error, Array.isArray(rows) ? (rows as unknown[][])[0]?.[0] : null)
        if (values.length === 0) connection.query(sql, done)
        else statements.execute(sql, [...values], done)
      },
      hold: (isHeld) => (isHeld ? stream()?.ref?.() : stream()?.unref?.()),
      destroy: () => connection.destroy(),
    },
    WORDS,
    timeoutMs,
  )
  connection.on('error', (error: unknown) => session.broke(error))
  connection.on('end', () => session.broke(new StoreUnreachableError('mysql: the connection was closed')))
  try {
    // Who waits for a lock may wait for long.
    await session.ask(ownSettings(true))
    // The server ends a session that is silent for so long, and frees its locks; by default that is eight hours.
    await session.ask(`SET SESSION wait_timeout = ${Math.max(2, Math.ceil((2 * keepAliveMs + timeoutMs) / 1_000))}`)
    if (Number(await session.ask('SELECT CONNECTION_ID()')) !== connection.threadId) {
      throw new UsageError('session locks need a connection to the server itself, and a proxy is in between')
    }
    return session
  } catch (error) {
    session.end()
    throw toStoreError(error)
  }
}
