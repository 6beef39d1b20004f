/** A MariaDB server, and connections to it by hand. */
import type { Connection, ResultSetHeader, RowDataPacket } from 'mysql2/promise'
import { MissingClientError } from 'holdfast'
import type { Server } from '../testbed/server.ts'
import type { Stage } from './stage.ts'

export function mariadb(stage: Stage): Promise<Server> {
  return stage.shared('mariadb', async () => (await stage.bed()).mariadb())
}

/** mysql2 is loaded only here: users of other exhibits need not have it. */
export async function openConnection(url: string): Promise<Connection> {
  const { createConnection } = await import('mysql2/promise').catch((cause: unknown) => {
    throw new MissingClientError('this exhibit needs the package mysql2: npm install mysql2', { cause })
  })
  const connection = await createConnection(url)
  // The server may end first; the next query reports that.
  connection.on('error', () => undefined)
  return connection
}

export async function connect(stage: Stage, url: string): Promise<Connection> {
  const connection = await openConnection(url)
  stage.defer(() => connection.end())
  return connection
}

/** How many rows a statement has changed; null: refused, because the row exists already. */
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
