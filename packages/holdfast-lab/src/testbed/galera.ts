/**
 * A Galera cluster of MariaDB servers: each takes writes, and before a write is answered all remaining nodes have it.
 */
import { type Bed, countOf, type Group } from './bed.ts'
import { TestbedError } from './error.ts'
import { look } from './find.ts'
import { mariadbAsk } from './mariadb-ask.ts'
import { type MariadbOptions, mariadbServer } from './mariadb.ts'
import { packagesOf } from './needs.ts'
import { freePorts } from './port.ts'
import type { Server } from './server.ts'
import { until } from './until.ts'

export interface GaleraOptions extends Omit<MariadbOptions, 'perStart' | 'empty'> {
  /** How long a node may be silent before the others go on without it, if they are a majority; default 2 000. */
  readonly suspectMs?: number
}

export interface GaleraGroup extends Group {
  /** Resolves once the node belongs to a majority, and serves; default within 30 000 ms. */
  joined(server: Server, withinMs?: number): Promise<void>
}

export async function startGalera(bed: Bed, count: number, o: GaleraOptions = {}): Promise<GaleraGroup> {
  const paths = await look('galera')
  if (paths === null) {
    throw new TestbedError(`Galera is not installed; Debian has it in: ${packagesOf(['galera']).join(' ')}`)
  }
  const peers = await freePorts(countOf('galera', count))
  const servers: Server[] = []
  for (const [at, peer] of peers.entries()) {
    const [transfer, increment] = (await freePorts(2)) as [number, number]
    let starts = 0
    const seconds = (o.suspectMs ?? 2_000) / 1_000
    const provider = [
      `gmcast.listen_addr=tcp://127.0.0.1:${peer}`,
      `ist.recv_addr=127.0.0.1:${increment}`,
      `evs.suspect_timeout=PT${seconds}S`,
      `evs.inactive_timeout=PT${seconds * 3}S`,
      `evs.keepalive_period=PT${seconds / 5}S`,
      `evs.inactive_check_period=PT${seconds / 5}S`,
      // An unanswered peer is asked for again soon: a healed node is back within a second or two.
      'gmcast.peer_timeout=PT1S',
      'gcache.size=8M',
    ]
    const config = {
      'wsrep-on': 'ON',
      'wsrep-provider': paths.get('libgalera_smm.so') ?? '',
      'wsrep-provider-options': provider.join(';'),
      'wsrep-cluster-address': `gcomm://${peers.map((port) => `127.0.0.1:${port}`).join(',')}`,
      'wsrep-node-address': '127.0.0.1',
      'wsrep-node-name': `node${at + 1}`,
      'wsrep-sst-method': 'rsync',
      'wsrep-sst-receive-address': `127.0.0.1:${transfer}`,
      'binlog-format': 'ROW',
      'innodb-autoinc-lock-mode': 2,
      ...o.config,
    }
    // One node must begin the cluster, and only once: a restarted node that began another would be a second brain.
    const perStart = (): string[] => (at === 0 && starts++ === 0 ? ['--wsrep-new-cluster'] : [])
    servers.push(await mariadbServer(bed, { ...o, config, perStart, empty: at > 0 }))
  }
  const joined = (server: Server, withinMs?: number): Promise<void> =>
    until(() => expectReady(server), { what: `${server.name} belongs to the cluster`, withinMs })
  // One after the other: a node that is giving its data to one node can't give them to the next.
  for (const server of servers) {
    await server.start()
    await joined(server)
  }
  return { url: servers[0]?.url ?? '', servers, joined }
}

async function expectReady(server: Server): Promise<void> {
  const rows = await mariadbAsk(server, "SHOW STATUS WHERE Variable_name IN ('wsrep_cluster_status', 'wsrep_ready')")
  const said = rows.flat().join(' ')
  if (said !== 'wsrep_cluster_status Primary wsrep_ready ON') throw new Error(said)
}
