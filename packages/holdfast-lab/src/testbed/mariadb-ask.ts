/** Questions to a MariaDB server, as its root. */
import type { Server } from './server.ts'

/** One after the other in one session; the rows of the last as arrays, none for a statement that has no rows. */
export async function mariadbAsk(server: Server, ...statements: readonly string[]): Promise<unknown[][]> {
  // Loaded only here: who starts other servers need not have the package.
  const { createConnection } = await import('mysql2/promise')
  const connection = await createConnection({ uri: server.url, connectTimeout: 5_000 })
  // The server may go while it is asked; the query rejects then.
  connection.on('error', () => undefined)
  try {
    let rows: unknown = []
    for (const sql of statements) [rows] = await connection.query({ sql, rowsAsArray: true })
    return Array.isArray(rows) ? (rows as unknown[][]) : []
  } finally {
    connection.destroy()
  }
}
