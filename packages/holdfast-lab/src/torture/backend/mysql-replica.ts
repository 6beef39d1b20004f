/** A MariaDB primary with a semi-synchronous replica. */
import { mariadbAsk } from '../../testbed/mariadb-ask.ts'
import type { Testbed } from '../../testbed/testbed.ts'
import type { Backend } from './backend.ts'
import type { Clocks } from './clock.ts'
import { endSessions } from './mysql.ts'
import { replicaBackend } from './replicas.ts'
import { versionOf } from './versions.ts'

export async function mysqlReplicaBackend(bed: Testbed, clocks: Clocks): Promise<Backend> {
  return replicaBackend(clocks, {
    name: 'mysql-replica',
    versions: await versionOf('mariadb'),
    start: (o) => bed.mariadbReplica({ ...o, semiSync: true }),
    hurry: async (primary) => {
      await mariadbAsk(primary, 'SET GLOBAL rpl_semi_sync_master_enabled = 0')
    },
    // Not those of root: the replica reads as root.
    endSessions: ({ url }) => endSessions(url, 'app'),
  })
}
