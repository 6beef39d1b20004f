/** A MariaDB replica, asynchronous and semi-synchronous, is promoted. */
import { mariadbAsk } from '../../../../holdfast-lab/src/testbed/mariadb-ask.ts'
import { sqlGuard } from '../../../src/fence/index.ts'
import { mysql } from '../../../src/stores/mysql/index.ts'
import { failsOver } from '../sql/failover.ts'

failsOver({
  server: 'mariadb',
  pair: (bed, semiSync) => bed.mariadbReplica({ semiSync }),
  open: mysql,
  guard: 'mysql2',
  makeGuard: (server) => mariadbAsk(server, sqlGuard().migration('mysql')),
  direct: (server) => server.url.replace('root@', 'app@'),
})
