/**
 * `node bench/notify.js URL`: one raw commit until another connection hears of it, what a hand-over can't be faster
 * than. PostgreSQL: by NOTIFY. MySQL and MariaDB: by a lock of the session (GET_LOCK) that is let go after the commit.
 */
import { load } from './load.js'
import { quantile } from './stats.js'

const WARM = 500
const TIMES = 2_500

const [url = 'postgres://postgres@127.0.0.1:5432/postgres'] = process.argv.slice(2)
const heard = url.startsWith('mysql:') ? await byLock() : await byNotify()
const [p50, p99] = [0.5, 0.99].map((part) => quantile(heard, part).toFixed(3))
console.log(
  `one commit, until heard ${url.startsWith('mysql:') ? 'by a lock' : 'by NOTIFY'}: p50 ${p50} ms, p99 ${p99} ms`,
)

async function byNotify() {
  /**
   * @typedef {{ connect(): Promise<void>, query(text: string | object): Promise<unknown>, on(event: string, fn: () =>
   * void): void, end(): Promise<void> }} Client
   */
  /** @type {{ default: { Client: new (config: object) => Client } }} */
  const { default: pg } = await load('pg')
  const [writer, hearer] = [new pg.Client({ connectionString: url }), new pg.Client({ connectionString: url })]
  await writer.connect()
  await hearer.connect()
  await writer.query('CREATE TABLE IF NOT EXISTS raw_turn (id int PRIMARY KEY, n bigint)')
  await writer.query('INSERT INTO raw_turn VALUES (1, 0) ON CONFLICT DO NOTHING')
  await hearer.query('LISTEN raw_turn')
  /** @type {() => void} */
  let arrived = () => {}
  hearer.on('notification', () => arrived())
  const text =
    "WITH u AS (UPDATE raw_turn SET n = n + 1 WHERE id = 1 RETURNING n) SELECT pg_notify('raw_turn', n::text) FROM u"
  const times = await repeat(async () => {
    const arrival = new Promise((resolve) => {
      arrived = () => resolve(undefined)
    })
    const started = performance.now()
    const written = writer.query({ name: 'turn', text, values: [] })
    await arrival
    const tookMs = performance.now() - started
    await written
    return tookMs
  })
  await Promise.all([writer.end(), hearer.end()])
  return times
}

async function byLock() {
  /**
   * @typedef {{ execute(sql: string): Promise<unknown>, query(sql: string): Promise<unknown>, end(): Promise<void> }}
   * Connection
   */
  /** @type {{ createConnection(url: string): Promise<Connection> }} */
  const { createConnection } = await load('mysql2/promise')
  const [writer, hearer] = [await createConnection(url), await createConnection(url)]
  await writer.query('CREATE TABLE IF NOT EXISTS raw_turn (id INT PRIMARY KEY, n BIGINT) ENGINE = InnoDB')
  await writer.query('INSERT IGNORE INTO raw_turn VALUES (1, 0)')
  await writer.query('DROP PROCEDURE IF EXISTS raw_turn')
  // Commit and bell in one call, as a leave has them.
  await writer.query(
    "CREATE PROCEDURE raw_turn() BEGIN UPDATE raw_turn SET n = n + 1 WHERE id = 1; DO RELEASE_LOCK('raw_turn'); END",
  )
  const times = await repeat(async () => {
    await writer.execute("DO GET_LOCK('raw_turn', 10)")
    const arrival = hearer.execute("DO GET_LOCK('raw_turn', 10)")
    // By then the other connection waits for the lock.
    await new Promise((resolve) => setTimeout(resolve, 1))
    const started = performance.now()
    const written = writer.execute('CALL raw_turn()')
    await arrival
    const tookMs = performance.now() - started
    await written
    await hearer.execute("DO RELEASE_LOCK('raw_turn')")
    return tookMs
  })
  await Promise.all([writer.end(), hearer.end()])
  return times
}

/** @param {() => Promise<number>} once */
async function repeat(once) {
  /** @type {number[]} */
  const times = []
  for (let i = 0; i < WARM + TIMES; i++) {
    const tookMs = await once()
    if (i >= WARM) times.push(tookMs)
  }
  return times
}
