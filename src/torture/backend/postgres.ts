/** One PostgreSQL server. */
import { Client } from 'pg'
import type { Testbed } from '../../testbed/testbed.ts'
import type { Backend } from './backend.ts'
import { clockDeeds, type Clocks } from './clock.ts'
import { anyOf, killServer, once, pauseServer } from './deeds.ts'
import { Gates } from './gates.ts'
import { NO_TAIL, ONE_SERVER } from './sql.ts'
import { versionOf } from './versions.ts'

export async function postgresBackend(bed: Testbed, clocks: Clocks): Promise<Backend> {
  const clock = await clocks.make('postgres')
  const server = await bed.postgres(clock.env === null ? {} : { env: clock.env })
  const one = anyOf([server])
  const gates = new Gates([server], (addresses) => `postgres://postgres@${addresses}/postgres`)
  return {
    versions: await versionOf('postgres'),
    url: server.url,
    failoverMs: 3_000,
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
  const admin = new Client({ connectionString: url })
  // The server may go while we are here; the query rejects then.
  admin.on('error', () => undefined)
  await admin.connect()
  try {
    await admin.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname IS NOT NULL',
    )
  } finally {
    await admin.end()
  }
}
