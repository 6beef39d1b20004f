/**
 * Locks of a session: the raw ones, each on a connection of a pool that it keeps while it holds, and Holdfast's on a
 * shared one.
 */
import { load, loadBuilt } from '../load.js'

/** @typedef {import('../adapter.ts').Adapter} Adapter */
/** @typedef {import('../../packages/holdfast/src/stores/postgres/index.ts').SessionHeld} SessionHeld */

/** As many as a server of the testbed allows, with some to spare. */
const CONNECTIONS = 100

/** @type {Pick<Adapter, 'only' | 'renews' | 'recovers'>} */
const KIND = { only: ['uncontended'], renews: false, recovers: false }

/** @type {Adapter} */
export const rawAdvisory = {
  name: 'raw-advisory',
  store: 'postgres',
  role: 'raw',
  ...KIND,
  async open({ url }) {
    /** @typedef {{ query(config: object): Promise<unknown>, release(): void }} Client */
    /** @type {{ default: { Pool: new (config: object) => { connect(): Promise<Client>, end(): Promise<void> } } }} */
    const { default: pg } = await load('pg')
    const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS })
    return {
      lock: (name) => ({
        async acquire() {
          const client = await pool.connect()
          const text = 'SELECT pg_advisory_lock(hashtextextended($1, 0))'
          await client.query({ name: 'lock', text, values: [name] })
          return client
        },
        async release(token) {
          const client = /** @type {Client} */ (token)
          const text = 'SELECT pg_advisory_unlock(hashtextextended($1, 0))'
          await client.query({ name: 'unlock', text, values: [name] })
          client.release()
        },
      }),
      close: () => pool.end(),
    }
  },
}

/** @type {Adapter} */
export const rawGetLock = {
  name: 'raw-getlock',
  store: 'mysql',
  role: 'raw',
  ...KIND,
  async open({ url }) {
    /** @typedef {{ execute(sql: string, values: unknown[]): Promise<unknown>, release(): void }} Connection */
    /** @type {{ createPool(config: object): { getConnection(): Promise<Connection>, end(): Promise<void> } }} */
    const { createPool } = await load('mysql2/promise')
    const pool = createPool({ uri: url, connectionLimit: CONNECTIONS })
    return {
      lock: (name) => ({
        async acquire() {
          const connection = await pool.getConnection()
          await connection.execute('SELECT GET_LOCK(?, 60)', [name])
          return connection
        },
        async release(token) {
          const connection = /** @type {Connection} */ (token)
          await connection.execute('SELECT RELEASE_LOCK(?)', [name])
          connection.release()
        },
      }),
      close: () => pool.end(),
    }
  },
}

/** @param {string} store @returns {Adapter} */
const sessions = (store) => ({
  name: `holdfast-${store}-session`,
  store,
  role: 'ours',
  ...KIND,
  async open({ url }) {
    /** @type {typeof import('../../packages/holdfast/src/stores/postgres/index.ts')} */
    const { sessionLocks } = await loadBuilt(`stores/${store}/index.js`)
    const locks = sessionLocks(url)
    return {
      lock: (name) => ({
        acquire: () => locks.acquire(name),
        release: (held) => /** @type {SessionHeld} */ (held).release(),
      }),
      close: () => locks.close(),
    }
  },
})

export const postgresSession = sessions('postgres')
export const mysqlSession = sessions('mysql')
