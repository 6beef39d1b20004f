/** A PostgreSQL primary with a synchronous standby. */
import { postgresAsk } from '../../testbed/postgres-replica.ts'
import type { Testbed } from '../../testbed/testbed.ts'
import type { Backend } from './backend.ts'
import type { Clocks } from './clock.ts'
import { endSessions } from './postgres.ts'
import { replicaBackend } from './replicas.ts'
import { versionOf } from './versions.ts'

export async function postgresReplicaBackend(bed: Testbed, clocks: Clocks): Promise<Backend> {
  return replicaBackend(clocks, {
    name: 'postgres-replica',
    versions: await versionOf('postgres'),
    start: (o) => bed.postgresReplica({ ...o, synchronous: true }),
    hurry: async (primary) => {
      await postgresAsk(primary, 'ALTER SYSTEM RESET synchronous_standby_names')
      await postgresAsk(primary, 'SELECT pg_reload_conf()')
    },
    endSessions: ({ url }) => endSessions(url),
  })
}
