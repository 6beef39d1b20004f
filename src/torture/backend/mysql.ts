/** One MariaDB server. */
import { createConnection } from 'mysql2/promise'
import type { Testbed } from '../../testbed/testbed.ts'
import type { Backend } from './backend.ts'
import { clockDeeds, type Clocks } from './clock.ts'
import { anyOf, killServer, once, pauseServer } from './deeds.ts'
import { Gates } from './gates.ts'
import { NO_TAIL, ONE_SERVER } from './sql.ts'
import { versionOf } from './versions.ts'

export async function mysqlBackend(bed: Testbed, clocks: Clocks): Promise<Backend> {
  const clock = await clocks.make('mysql')
  const server = await bed.mariadb(clock.env === null ? {} : { env: clock.env })
  const one = anyOf([server])
  const gates = new Gates([server], (addresses) => `mysql://root@${addresses}/test`)
  return {
    versions: await versionOf('mariadb'),
    url: server.url,
    failoverMs: 4_000,
    ttlMs: 1_500,
    deeds: {
      'pause-server': pauseServer(one, { ms: 1_500 }),
      'kill-server': killServer(one, { downMs: 800 }),
      'terminate-session': once('all sessions', false, () => endSessions(server.url)),
      ...clockDeeds(clock, server.name),
    },
    lacks: { ...ONE_SERVER, ...NO_TAIL, ...clock.lacks },
    gate: () => gates.open(),
    close: () => gates.close(),
  }
}

async function endSessions(url: string): Promise<void> {
  const admin = await createConnection(url)
  // The server may go while we are here; the query rejects then.
  admin.on('error', () => undefined)
  try {
    const [rows] = await admin.query(
      'SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND user = "root"',
    )
    for (const { id } of rows as { id: number }[]) await end(admin, id)
  } finally {
    await admin.end()
  }
}

/** ER_NO_SUCH_THREAD: it has gone by itself. */
async function end(admin: { query(sql: string): Promise<unknown> }, id: number): Promise<void> {
  try {
    await admin.query(`KILL ${id}`)
  } catch (error) {
    if (!(error instanceof Error && 'errno' in error && error.errno === 1094)) throw error
  }
}
