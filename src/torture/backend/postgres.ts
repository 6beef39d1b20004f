/** One PostgreSQL server. */
import { Client } from 'pg'
import type { Testbed } from '../../testbed/testbed.ts'
import type { Backend } from './backend.ts'
import type { Clocks } from './clock.ts'
import { sqlBackend } from './sql.ts'
import { versionOf } from './versions.ts'

export async function postgresBackend(bed: Testbed, clocks: Clocks): Promise<Backend> {
  return sqlBackend(clocks, {
    name: 'postgres',
    versions: await versionOf('postgres'),
    failoverMs: 3_000,
    start: (o) => bed.postgres(o),
    endSessions,
  })
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
