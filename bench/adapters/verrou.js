/** @verrou/core on a SQL server, through knex, as its documentation has it. */
import { load } from '../load.js'

/**
 * @param {string} store
 * @param {string} client the package that knex opens it with
 * @returns {import('../adapter.ts').Adapter}
 */
const verrou = (store, client) => ({
  name: `verrou-${store}`,
  store,
  role: 'peer',
  packages: ['@verrou/core', 'knex'],
  only: ['uncontended', 'contended'],
  renews: false,
  recovers: false,
  async open({ url, ttlMs }) {
    /** @type {{ default: (config: object) => { destroy(): Promise<void> } }} */
    const { default: knex } = await load('knex')
    /** @typedef {{ acquire(): Promise<boolean>, release(): Promise<void> }} Lock */
    /** @type {{ Verrou: new (config: object) => { createLock(name: string, ttl: number): Lock } }} */
    const { Verrou } = await load('@verrou/core')
    /** @type {{ knexStore: (config: object) => unknown }} */
    const { knexStore } = await load('@verrou/core/drivers/knex')
    const connection = knex({ client, connection: url, pool: { min: 0, max: 10 } })
    const locks = new Verrou({
      default: 'sql',
      stores: { sql: { driver: knexStore({ connection, tableName: 'verrou' }) } },
    })
    // The package makes its table at the first use.
    const first = locks.createLock(`warm ${process.pid}`, ttlMs)
    await first.acquire()
    await first.release()
    return {
      lock: (name) => ({
        async acquire() {
          const lock = locks.createLock(name, ttlMs)
          await lock.acquire()
          return lock
        },
        release: (lock) => /** @type {Lock} */ (lock).release(),
      }),
      close: () => connection.destroy(),
    }
  },
})

export const verrouPostgres = verrou('postgres', 'pg')
export const verrouMysql = verrou('mysql', 'mysql2')
