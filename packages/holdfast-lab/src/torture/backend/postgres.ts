/** One PostgreSQL server. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'pg'
import type { Testbed } from '../../testbed/testbed.ts'
import type { Backend } from './backend.ts'
import { CABLE_NETWORK } from './cable.ts'
import type { Clocks } from './clock.ts'
import { sqlBackend } from './sql.ts'
import { postgresHello } from '../../testbed/postgres.ts'
import { versionOf } from './versions.ts'

const NO_DUMP = 'another major version needs its data dumped or converted (pg_upgrade): that is not in place'
const TRUSTED = ['127.0.0.1/32', CABLE_NETWORK]

export async function postgresBackend(bed: Testbed, clocks: Clocks): Promise<Backend> {
  return sqlBackend(clocks, {
    name: 'postgres',
    versions: await versionOf('postgres'),
    failoverMs: 3_000,
    start: async (o) => {
      const file = join(bed.dir, 'hba.conf')
      // The server runs as another user; what it must read is no secret.
      await writeFile(file, TRUSTED.map((network) => `host all all ${network} trust\n`).join(''), { mode: 0o644 })
      return bed.postgres({ ...o, durable: true, config: { hba_file: file, max_wal_size: '64MB' } })
    },
    suffers: { kind: 'postgres', hello: postgresHello(), spared: { 'upgrade-server': NO_DUMP } },
    endSessions,
  })
}

export async function endSessions(url: string): Promise<void> {
  const admin = new Client({ connectionString: url })
  // The server may end meanwhile; then the query rejects.
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
