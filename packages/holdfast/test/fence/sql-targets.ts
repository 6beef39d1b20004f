/** A number in a table, guarded inside the transaction that reads or writes it. */
import { createPool, type PoolConnection, type RowDataPacket } from 'mysql2/promise'
import { Pool } from 'pg'
import postgresJs from 'postgres'
import { sqlGuard, type SqliteDatabase, type SqlTransaction } from '../../src/fence/index.ts'
import { RESOURCE, type Target } from './target.ts'

const guard = sqlGuard()

/** How one kind of client does it. */
interface Client {
  /** Commits, or rolls back and rethrows. */
  transaction<T>(work: (tx: SqlTransaction) => Promise<T>): Promise<T>
  read(tx: SqlTransaction): Promise<number>
  write(tx: SqlTransaction, value: number): Promise<void>
  close(): Promise<void>
}

function sqlTarget(client: Client): Target {
  return {
    check: (resource, held) => client.transaction((tx) => guard.check(tx, resource, held)),
    read: (held) =>
      client.transaction(async (tx) => {
        await guard.check(tx, RESOURCE, held)
        return client.read(tx)
      }),
    write: (held, value) =>
      client.transaction(async (tx) => {
        await guard.check(tx, RESOURCE, held)
        await client.write(tx, value)
      }),
    close: client.close,
  }
}

export async function pgTarget(url: string): Promise<Target> {
  type Tx = { query(text: string, values: unknown[]): Promise<{ rows: { n: number }[] }>; release(): void }
  const pool = new Pool({ connectionString: url })
  pool.on('error', () => {})
  return sqlTarget({
    async transaction(work) {
      const tx = (await (pool as unknown as { connect(): Promise<Tx> }).connect()) satisfies Tx
      try {
        await tx.query('BEGIN', [])
        const result = await work(tx)
        await tx.query('COMMIT', [])
        return result
      } catch (error) {
        await tx.query('ROLLBACK', [])
        throw error
      } finally {
        tx.release()
      }
    },
    read: async (tx) => (await (tx as Tx).query('SELECT n FROM stock', [])).rows[0]?.n ?? 0,
    write: async (tx, value) => void (await (tx as Tx).query('UPDATE stock SET n = $1', [value])),
    close: () => pool.end(),
  })
}

export async function postgresJsTarget(url: string): Promise<Target> {
  const sql = postgresJs(url, { onnotice: () => {} })
  return sqlTarget({
    transaction: <T>(work: (tx: SqlTransaction) => Promise<T>) => sql.begin((tx) => work(tx)) as Promise<T>,
    read: async (tx) => ((await (tx as typeof sql)`SELECT n FROM stock`)[0] as { n: number }).n,
    write: async (tx, value) => void (await (tx as typeof sql)`UPDATE stock SET n = ${value}`),
    close: () => sql.end(),
  })
}

export async function mysqlTarget(url: string): Promise<Target> {
  const pool = createPool({ uri: url })
  return sqlTarget({
    async transaction(work) {
      const tx = await pool.getConnection()
      try {
        await tx.beginTransaction()
        const result = await work(tx)
        await tx.commit()
        return result
      } catch (error) {
        await tx.rollback()
        throw error
      } finally {
        tx.release()
      }
    },
    async read(tx) {
      const [rows] = await (tx as PoolConnection).query<RowDataPacket[]>('SELECT n FROM stock')
      return Number(rows[0]?.n)
    },
    write: async (tx, value) => void (await (tx as PoolConnection).query('UPDATE stock SET n = ?', [value])),
    close: () => pool.end(),
  })
}

/** What is called of libsql, whose types are for another compiler. */
export interface Libsql extends SqliteDatabase {
  readonly inTransaction: boolean
  exec(sql: string): void
  close(): void
}

export async function openLibsql(path: string): Promise<Libsql> {
  const { default: Database } = (await import('libsql' as string)) as {
    default: new (path: string, options: { timeout: number }) => Libsql
  }
  const db = new Database(path, { timeout: 5_000 })
  db.exec('PRAGMA journal_mode = WAL')
  return db
}

export async function libsqlTarget(path: string): Promise<Target> {
  const db = await openLibsql(path)
  return sqlTarget({
    async transaction(work) {
      db.exec('BEGIN')
      try {
        const result = await work(db)
        db.exec('COMMIT')
        return result
      } catch (error) {
        if (db.inTransaction) db.exec('ROLLBACK')
        throw error
      }
    },
    read: async () => (db.prepare('SELECT n FROM stock').all()[0] as { n: number }).n,
    write: async (_, value) => void db.prepare('UPDATE stock SET n = ?').run(...([value] as never[])),
    close: async () => db.close(),
  })
}
