/**
 * The raw limit on SQLite: two immediate transactions a pair, one message over a unix socket a hand-over, and nothing
 * else. No ttl, no token, no death: it shows what file, engine and wake-up cost, with the pragmas that the driver uses.
 */
import { createConnection, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { load } from '../load.js'

/**
 * @typedef {{ run(...values: unknown[]): { lastInsertRowid: number | bigint }, get(...values: unknown[]): unknown }} Statement
 * @typedef {{ exec(sql: string): unknown, prepare(sql: string): Statement, close(): unknown }} Database
 */

// The pragmas of src/drivers/sqlite/schema.ts: what is compared is the library, not the settings of a file.
const SCHEMA = `PRAGMA busy_timeout = 1; PRAGMA page_size = 2048; PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 8192;
  CREATE TABLE IF NOT EXISTS place (seq INTEGER PRIMARY KEY, line TEXT NOT NULL, inbox TEXT NOT NULL);
  CREATE INDEX IF NOT EXISTS place_line ON place (line, seq)`

/** @param {string} path @returns {Promise<Database>} */
async function openDatabase(path) {
  if (process.versions.node.startsWith('20.')) {
    /** @type {{ default: new (path: string) => Database }} */
    const { default: Libsql } = await load('libsql')
    return new Libsql(path)
  }
  /** @type {{ DatabaseSync: new (path: string) => Database }} */
  const { DatabaseSync } = await load('node:sqlite')
  return new DatabaseSync(path)
}

/**
 * Another process may have the file: its transactions are short, so ask again soon.
 *
 * @template T
 * @param {() => T} step
 * @returns {Promise<T>}
 */
async function untilFree(step) {
  for (;;) {
    try {
      return step()
    } catch (error) {
      if (!(error instanceof Error) || !/locked|busy/i.test(error.message)) throw error
      await sleep(1)
    }
  }
}

/** @type {import('../adapter.ts').Adapter} */
export const rawSqlite = {
  name: 'raw-sqlite',
  store: 'sqlite',
  role: 'raw',
  packages: ['libsql'],
  renews: false,
  recovers: false,
  async open({ folder }) {
    const db = await openDatabase(join(folder, 'raw.db'))
    await untilFree(() => db.exec(SCHEMA))
    const insert = db.prepare('INSERT INTO place (line, inbox) VALUES (?, ?)')
    const ahead = db.prepare('SELECT 1 FROM place WHERE line = ? AND seq < ? LIMIT 1')
    const remove = db.prepare('DELETE FROM place WHERE seq = ?')
    const first = db.prepare('SELECT seq, inbox FROM place WHERE line = ? ORDER BY seq LIMIT 1')
    const inbox = join(folder, `${process.pid}.sock`)
    /** @type {Map<number, (seq: number) => void>} */
    const waiting = new Map()
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy())
      socket.setEncoding('latin1').on('data', (lines) => {
        for (const line of String(lines).trim().split('\n')) granted(Number(line))
      })
    })
    await new Promise((resolve) => server.listen(inbox, () => resolve(undefined)))
    server.unref()
    /** @type {Map<string, import('node:net').Socket>} */
    const outboxes = new Map()

    /** @param {number} seq */
    function granted(seq) {
      waiting.get(seq)?.(seq)
      waiting.delete(seq)
    }

    /** @param {{ seq: number, inbox: string }} next */
    function wake(next) {
      if (next.inbox === inbox) return granted(next.seq)
      const outbox = outboxes.get(next.inbox) ?? createConnection(next.inbox).unref()
      if (!outboxes.has(next.inbox)) outbox.on('error', () => outboxes.delete(next.inbox))
      outboxes.set(next.inbox, outbox)
      outbox.write(`${next.seq}\n`)
    }

    /** @template T @param {() => T} work @returns {Promise<T>} */
    function immediately(work) {
      return untilFree(() => {
        db.exec('BEGIN IMMEDIATE')
        const result = work()
        db.exec('COMMIT')
        return result
      })
    }

    return {
      lock: (line) => ({
        acquire: () =>
          immediately(() => {
            const seq = Number(insert.run(line, inbox).lastInsertRowid)
            if (ahead.get(line, seq) === undefined) return seq
            // Registered in the same step: the one in front may leave as soon as this is committed.
            return new Promise((resolve) => waiting.set(seq, resolve))
          }),
        async release(seq) {
          const next = await immediately(() => {
            remove.run(seq)
            return /** @type {{ seq: number, inbox: string } | undefined} */ (first.get(line))
          })
          // In an uncontended pair nobody is next; a waiter that was already told is told again, and ignores it.
          if (next !== undefined) wake(next)
        },
      }),
      close() {
        for (const outbox of outboxes.values()) outbox.destroy()
        server.close()
        db.close()
      },
    }
  },
}
