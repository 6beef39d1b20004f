/**
 * The raw limit on MySQL and MariaDB: one insert and one delete a pair in autocommit, prepared, through the same
 * package and pool size.
 */
import { load } from '../load.js'

/**
 * @typedef {{ execute(sql: string, values: unknown[]): Promise<[{ affectedRows: number }]>, query(sql: string):
 * Promise<unknown>, end(): Promise<void> }} Pool
 */

const POLL_MS = 10

/** @type {import('../adapter.ts').Adapter} */
export const rawMysql = {
  name: 'raw-mysql',
  store: 'mysql',
  role: 'raw',
  only: ['uncontended', 'contended'],
  renews: false,
  recovers: false,
  async open({ url }) {
    /** @type {{ createPool(config: object): Pool }} */
    const { createPool } = await load('mysql2/promise')
    const pool = createPool({ uri: url, connectionLimit: 10 })
    await pool.query('CREATE TABLE IF NOT EXISTS raw_lock (name VARCHAR(255) PRIMARY KEY, owner VARCHAR(64))')
    let count = 0
    return {
      lock(name) {
        return {
          async acquire() {
            const owner = `${process.pid}.${++count}`
            for (;;) {
              if (await insert(pool, name, owner)) return owner
              await new Promise((resolve) => setTimeout(resolve, POLL_MS))
            }
          },
          release: (owner) => pool.execute('DELETE FROM raw_lock WHERE name = ? AND owner = ?', [name, owner]),
        }
      },
      close: () => pool.end(),
    }
  },
}

/**
 * false: somebody has the lock, or two inserts collided in the index. In both cases the caller asks again.
 * @param {Pool} pool
 * @param {string} name
 * @param {string} owner
 */
async function insert(pool, name, owner) {
  try {
    const [{ affectedRows }] = await pool.execute('INSERT IGNORE INTO raw_lock VALUES (?, ?)', [name, owner])
    return affectedRows === 1
  } catch (error) {
    if (error instanceof Error && 'errno' in error && error.errno === 1213) return false
    throw error
  }
}
