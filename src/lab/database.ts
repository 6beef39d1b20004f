/** A MariaDB server, and connections to it by hand. */
import { type Connection, createConnection, type ResultSetHeader, type RowDataPacket } from 'mysql2/promise'
import type { Server } from '../testbed/server.ts'
import type { Stage } from './stage.ts'

export function mariadb(stage: Stage): Promise<Server> {
  return stage.shared('mariadb', async () => (await stage.bed()).mariadb())
}

export async function connect(stage: Stage, url: string): Promise<Connection> {
  const connection = await createConnection(url)
  // The server may go first; whoever asks it then is told.
  connection.on('error', () => undefined)
  stage.defer(() => connection.end())
  return connection
}

/** How many rows a statement has changed; null: refused, since the row is there already. */
export async function change(
  on: Connection,
  sql: string,
  values: readonly (string | number)[],
): Promise<number | null> {
  try {
    const [{ affectedRows }] = await on.execute<ResultSetHeader>(sql, [...values])
    return affectedRows
  } catch (error) {
    // ER_DUP_ENTRY
    if (error instanceof Error && 'errno' in error && error.errno === 1062) return null
    throw error
  }
}

export async function rows(on: Connection, sql: string): Promise<readonly RowDataPacket[]> {
  const [found] = await on.query<RowDataPacket[]>(sql)
  return found
}
