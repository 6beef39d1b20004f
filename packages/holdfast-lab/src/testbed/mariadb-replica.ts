/** A MariaDB primary with a replica, asynchronous or semi-synchronous, that can lag and be promoted. */
import { writeFile } from 'node:fs/promises'
import { join as joined } from 'node:path'
import type { Bed } from './bed.ts'
import { TestbedError } from './error.ts'
import { startFront } from './front.ts'
import { mariadbAsk } from './mariadb-ask.ts'
import { type MariadbOptions, mariadbServer } from './mariadb.ts'
import { type FaultProxy, faultProxy } from './proxy.ts'
import type { PromoteOptions, ReplicaPair } from './replica-pair.ts'
import type { Server } from './server.ts'
import { until } from './until.ts'

export interface MariadbReplicaOptions extends Omit<MariadbOptions, 'perStart' | 'empty'> {
  /**
   * A commit is visible and answered only when the replica has it, however long that takes (`rpl_semi_sync`,
   * AFTER_SYNC, a time-out of a day); default false.
   */
  readonly semiSync?: boolean
}

/**
 * In nobody's binary log: what each server makes for itself must not reach the other. The user of the front's URL has
 * no right to write to a read-only server, as root has.
 */
const USERS = `SET SESSION sql_log_bin = 0;
CREATE DATABASE IF NOT EXISTS test;
CREATE USER IF NOT EXISTS root@'127.0.0.1';
GRANT ALL PRIVILEGES ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;
CREATE USER IF NOT EXISTS app@'127.0.0.1';
GRANT ALL PRIVILEGES ON test.* TO app@'127.0.0.1';
`

export async function startMariadbReplica(bed: Bed, o: MariadbReplicaOptions = {}): Promise<ReplicaPair> {
  const { semiSync = false, ...options } = o
  if ((await bed.found('mariadb')).make === 'mysql') throw new TestbedError("a replica needs MariaDB's own statements")
  let starts = 0
  // A server skips entries with its own number in another's log: if it were emptied, it would miss what it wrote
  // before.
  const perStart = (): string[] => [`--server-id=${++starts}`]
  const make = async (): Promise<Server> => {
    const { dir } = await bed.folder('users')
    const file = joined(dir, 'users.sql')
    // The server runs as another user; what it must read is no secret.
    await writeFile(file, USERS, { mode: 0o644 })
    const config = {
      'log-bin': 'binlog',
      'log-slave-updates': 1,
      'binlog-format': 'ROW',
      'init-file': file,
      'skip-slave-start': 1,
      'slave-net-timeout': 5,
      'rpl-semi-sync-slave-enabled': semiSync ? 1 : 0,
      'rpl-semi-sync-master-timeout': 86_400_000,
      'rpl-semi-sync-master-wait-point': 'AFTER_SYNC',
      ...o.config,
    }
    return mariadbServer(bed, { ...options, config, perStart })
  }
  const servers = [await make(), await make()] as const
  let [primary, replica]: readonly [Server, Server] = servers
  let stream: FaultProxy | null = null
  await Promise.all(servers.map((server) => server.start()))
  const front = await startFront(primary)
  /** From the beginning of the primary's log: both began as the same empty server. */
  const follow = async (): Promise<void> => {
    await stream?.close()
    stream = await faultProxy({ port: primary.port })
    const source = `MASTER_HOST = '127.0.0.1', MASTER_PORT = ${stream.port}, MASTER_USER = 'root'`
    const pace = 'MASTER_CONNECT_RETRY = 1, MASTER_HEARTBEAT_PERIOD = 0.5, MASTER_USE_GTID = slave_pos'
    await mariadbAsk(replica, 'SET GLOBAL read_only = 1', `CHANGE MASTER TO ${source}, ${pace}`, 'START SLAVE')
    await until(() => expectRunning(replica), { what: `${replica.name} follows ${primary.name}` })
    if (!semiSync) return
    // While nothing is committed: no commit is half-way when it begins to need an answer.
    const enable = 'SET GLOBAL rpl_semi_sync_master_enabled = 1'
    await mariadbAsk(primary, 'FLUSH TABLES WITH READ LOCK', enable, 'UNLOCK TABLES')
    await until(() => expectStatus(primary, 'Rpl_semi_sync_master_clients', '1'), {
      what: `${primary.name} waits for its replica`,
    })
  }
  await follow()
  return {
    url: `mysql://app@127.0.0.1:${front.port}/test`,
    servers,
    front,
    get primary() {
      return primary
    },
    get replica() {
      return replica
    },
    get stream() {
      return stream as FaultProxy
    },
    async caughtUp() {
      const [[position] = []] = await mariadbAsk(primary, 'SELECT @@gtid_binlog_pos')
      await expectApplied(replica, String(position))
    },
    async promote({ cut = true }: PromoteOptions = {}) {
      const status = (await mariadbAsk(replica, 'STOP SLAVE IO_THREAD', 'SHOW SLAVE STATUS')).flat()
      // Without this, what was heard and not yet applied would be thrown away, although the old primary was told that
      // the replica has it.
      const heard = (status[status.indexOf('Slave_Pos') + 1] ?? '') as string
      await expectApplied(replica, heard)
      await mariadbAsk(replica, 'STOP SLAVE', 'RESET SLAVE ALL', 'SET GLOBAL read_only = 0')
      ;[primary, replica] = [replica, primary]
      front.leadTo(primary, cut)
    },
    async rejoin() {
      await replica.kill()
      await replica.restart({ keepData: false })
      await follow()
    },
    close() {
      front.close()
    },
  }
}

async function expectApplied(replica: Server, position: string): Promise<void> {
  const [[waited] = []] = await mariadbAsk(replica, `SELECT MASTER_GTID_WAIT('${position}', 30)`)
  if (Number(waited) !== 0) throw new TestbedError(`${replica.name} has not applied all up to ${position}`)
}

async function expectRunning(replica: Server): Promise<void> {
  const said = (await mariadbAsk(replica, "SHOW STATUS LIKE 'Slave_running'")).flat()
  if (said[1] !== 'ON') throw new Error(said.join(' '))
}

async function expectStatus(server: Server, name: string, wanted: string): Promise<void> {
  const said = (await mariadbAsk(server, `SHOW STATUS LIKE '${name}'`)).flat()
  if (said[1] !== wanted) throw new Error(said.join(' '))
}
