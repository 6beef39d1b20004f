/**
 * The raw limit on PostgreSQL: one insert and one delete a pair in autocommit, prepared, through the same package and
 * pool size.
 */
import { load } from '../load.js'

/**
 * @typedef {{ query(config: { name: string, text: string, values: unknown[] } | string): Promise<{ rowCount: number }>,
 * end(): Promise<void>, on(event: string, fn: () => void): void }} Pool
 */

const POLL_MS = 10

/** @type {import('../adapter.ts').Adapter} */
export const rawPostgres = {
  name: 'raw-postgres',
  store: 'postgres',
  role: 'raw',
  only: ['uncontended', 'contended'],
  renews: false,
  recovers: false,
  async open({ url }) {
    /** @type {{ default: { Pool: new (config: object) => Pool } }} */
    const { default: pg } = await load('pg')
    const pool = new pg.Pool({ connectionString: url, max: 10 })
    pool.on('error', () => {})
    // If two processes make the table at once, one of them fails; then the table is there.
    await pool.query('CREATE TABLE IF NOT EXISTS raw_lock (name text PRIMARY KEY, owner text)').catch(() => {})
    const insert = 'INSERT INTO raw_lock VALUES ($1, $2) ON CONFLICT DO NOTHING'
    const remove = 'DELETE FROM raw_lock WHERE name = $1 AND owner = $2'
    let count = 0
    return {
      lock(name) {
        return {
          async acquire() {
            const owner = `${process.pid}.${++count}`
            for (;;) {
              const { rowCount } = await pool.query({ name: 'insert', text: insert, values: [name, owner] })
              if (rowCount === 1) return owner
              await new Promise((resolve) => setTimeout(resolve, POLL_MS))
            }
          },
          release: (owner) => pool.query({ name: 'remove', text: remove, values: [name, owner] }),
        }
      },
      close: () => pool.end(),
    }
  },
}
