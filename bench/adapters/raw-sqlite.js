/**
 * The raw limits on SQLite, without a lock library: two immediate transactions a pair, one message over a unix socket a
 * hand-over, and nothing else. `raw-sqlite` makes the same transactions as the driver, on the same tables;
 * `least-sqlite` makes the least that could work (no ttl, no token, no death), which says what those cost.
 */
import { randomBytes } from 'node:crypto'
import { createConnection, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { load } from '../load.js'

/**
 * @typedef {{ run(...values: unknown[]): { lastInsertRowid: number | bigint }, get(...values: unknown[]): unknown }}
 * Statement
 * @typedef {{ exec(sql: string): unknown, prepare(sql: string): Statement, close(): unknown }} Database
 */

// The pragmas of packages/holdfast/src/stores/sqlite/schema.ts: what is compared is the library, not the settings of a
// file.
const PRAGMAS = `PRAGMA busy_timeout = 1; PRAGMA page_size = 2048; PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 8192`

/**
 * The statements of one raw limit, inside its two transactions.
 *
 * @typedef {object} Recipe
 * @property {string} schema
 * @property {(db: Database, inbox: string) => Steps} prepare
 *
 * @typedef {object} Steps
 * @property {(line: string) => { seq: number, granted: boolean }} enter
 * @property {(line: string, seq: number) => { seq: number, inbox: string } | undefined} leave answers who is next
 */

/** @type {Recipe} */
const LEAST = {
  schema: `CREATE TABLE IF NOT EXISTS place (seq INTEGER PRIMARY KEY, line TEXT NOT NULL, inbox TEXT NOT NULL);
    CREATE INDEX IF NOT EXISTS place_line ON place (line, seq)`,
  prepare(db, inbox) {
    const insert = db.prepare('INSERT INTO place (line, inbox) VALUES (?, ?)')
    const ahead = db.prepare('SELECT 1 FROM place WHERE line = ? AND seq < ? LIMIT 1')
    const remove = db.prepare('DELETE FROM place WHERE seq = ?')
    const first = db.prepare('SELECT seq, inbox FROM place WHERE line = ? ORDER BY seq LIMIT 1')
    return {
      enter(line) {
        const seq = Number(insert.run(line, inbox).lastInsertRowid)
        return { seq, granted: ahead.get(line, seq) === undefined }
      },
      leave(line, seq) {
        remove.run(seq)
        return /** @type {{ seq: number, inbox: string } | undefined} */ (first.get(line))
      },
    }
  },
}

/** The statements of packages/holdfast/src/stores/sqlite: front.ts, store.ts and removal.ts. @type {Recipe} */
const SAME = {
  schema: `CREATE TABLE IF NOT EXISTS host (one INTEGER PRIMARY KEY, boot TEXT NOT NULL, token INTEGER NOT NULL) STRICT;
    INSERT OR IGNORE INTO host VALUES (1, 'raw', 0);
    CREATE TABLE IF NOT EXISTS place (line TEXT NOT NULL, token INTEGER NOT NULL, id TEXT NOT NULL,
      weight INTEGER NOT NULL, capacity INTEGER NOT NULL, ttl_us INTEGER NOT NULL, process INTEGER NOT NULL, also TEXT,
      entered_at INTEGER NOT NULL, lapses_at INTEGER NOT NULL, granted INTEGER NOT NULL, broken INTEGER NOT NULL,
      data TEXT NOT NULL, PRIMARY KEY (line, token)) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS grave (id TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
  prepare(db, inbox) {
    const gate = db.prepare(`SELECT (SELECT token FROM host) AS lastToken, (SELECT boot FROM host) AS boot,
      (SELECT until FROM grave WHERE id = ?) AS deadUntil, count(*) AS count, coalesce(sum(weight), 0) AS ahead,
      min(lapses_at) AS dueAt, min(iif(lapses_at > ?, lapses_at, NULL)) AS nextAt, min(capacity) AS low,
      max(capacity) AS high, group_concat(process || coalesce(',' || also, '')) AS keys
      FROM (SELECT weight, lapses_at, capacity, process, also FROM place
        WHERE line = ? AND token < ? ORDER BY token LIMIT +?)`)
    const insert =
      db.prepare(`INSERT INTO place (line, token, id, weight, capacity, ttl_us, process, entered_at, lapses_at,
      granted, broken, data) VALUES (?, ?, ?, 1, 1, 30000000, ?, ?, ?, ?, 0, ?)`)
    const setToken = db.prepare('UPDATE host SET token = ?')
    const remove = db.prepare(`DELETE FROM place WHERE line = ? AND token = ?
      RETURNING line, token, capacity, process, also, broken`)
    const first = db.prepare(`SELECT id, token, process, weight, granted, data, lapses_at <= ? AS lapsed,
      (SELECT coalesce(sum(weight), 0) FROM place AS other
        WHERE other.line = place.line AND other.token < place.token) AS used
      FROM place WHERE line = ? AND token > 0 AND (granted = 0 OR lapses_at <= ?) ORDER BY token LIMIT 1`)
    const grant = db.prepare('UPDATE place SET granted = 1 WHERE line = ? AND token = ?')
    const nowUs = () => Math.floor(performance.now() * 1e3)
    return {
      enter(line) {
        const [id, now] = [randomBytes(16).toString('hex'), nowUs()]
        const front = /** @type {{ lastToken: number, count: number }} */ (gate.get(id, now, line, 2 ** 53, 1))
        const token = Math.max(front.lastToken + 1, Date.now() * 1e3)
        const granted = front.count === 0
        insert.run(line, token, id, process.pid, now, now + 30_000_000, granted ? 1 : 0, inbox)
        setToken.run(token)
        return { seq: token, granted }
      },
      leave(line, seq) {
        remove.get(line, seq)
        const now = nowUs()
        const next = /** @type {{ token: number, data: string } | undefined} */ (first.get(now, line, now))
        if (next === undefined) return undefined
        grant.run(line, next.token)
        return { seq: next.token, inbox: next.data }
      },
    }
  },
}

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

/** @param {string} name @param {Recipe} recipe @returns {import('../adapter.ts').Adapter} */
const rawLimit = (name, recipe) => ({
  name,
  store: 'sqlite',
  role: 'raw',
  packages: ['libsql'],
  renews: false,
  recovers: false,
  async open({ folder }) {
    const db = await openDatabase(join(folder, 'raw.db'))
    await untilFree(() => db.exec(`${PRAGMAS}; ${recipe.schema}`))
    const inbox = join(folder, `${process.pid}.sock`)
    const steps = recipe.prepare(db, inbox)
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
            const { seq, granted } = steps.enter(line)
            if (granted) return seq
            // Registered in the same step, because the holder in front may leave as soon as this is committed.
            return new Promise((resolve) => waiting.set(seq, resolve))
          }),
        async release(seq) {
          const next = await immediately(() => steps.leave(line, Number(seq)))
          // In an uncontended pair nobody is next. A waiter that was told already ignores the second message.
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
})

export const rawSqlite = rawLimit('raw-sqlite', SAME)
export const leastSqlite = rawLimit('least-sqlite', LEAST)
