/** One MariaDB server. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createConnection } from 'mysql2/promise'
import type { Testbed } from '../../testbed/testbed.ts'
import type { Backend } from './backend.ts'
import { CABLE_NETWORK } from './cable.ts'
import type { Clocks } from './clock.ts'
import { sqlBackend } from './sql.ts'
import { versionOf } from './versions.ts'

/** The host of an account, as MySQL writes it: 10.251.%. */
const WIRED = CABLE_NETWORK.replace(/\.0\.0\/16$/, '.%')

export async function mysqlBackend(bed: Testbed, clocks: Clocks): Promise<Backend> {
  return sqlBackend(clocks, {
    name: 'mysql',
    versions: await versionOf('mariadb'),
    failoverMs: 4_000,
    start: async (o) => {
      const file = join(bed.dir, 'users.sql')
      const account = `'root'@'${WIRED}'`
      // Made first: a GRANT that makes an account may not give it an empty password, and an init-file that fails is
      // only logged.
      const statements = [`CREATE USER IF NOT EXISTS ${account};`, `GRANT ALL ON *.* TO ${account} WITH GRANT OPTION;`]
      // The server runs as another user; what it must read is no secret.
      await writeFile(file, `${statements.join('\n')}\n`, { mode: 0o644 })
      return bed.mariadb({ ...o, durable: true, config: { 'init-file': file, 'skip-name-resolve': 1 } })
    },
    suffers: { kind: 'mariadb', program: 'mariadbd' },
    endSessions: (url) => endSessions(url),
  })
}

/** Those of this user; default root. */
export async function endSessions(url: string, user = 'root'): Promise<void> {
  const admin = await createConnection(url)
  // The server may end meanwhile; then the query rejects.
  admin.on('error', () => undefined)
  try {
    const [rows] = await admin.query(
      'SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND user = ?',
      [user],
    )
    for (const { id } of rows as { id: number }[]) await end(admin, id)
  } finally {
    await admin.end()
  }
}

/** ER_NO_SUCH_THREAD: the connection has ended by itself. */
async function end(admin: { query(sql: string): Promise<unknown> }, id: number): Promise<void> {
  try {
    await admin.query(`KILL ${id}`)
  } catch (error) {
    if (!(error instanceof Error && 'errno' in error && error.errno === 1094)) throw error
  }
}
