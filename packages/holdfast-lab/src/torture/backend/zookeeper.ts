/** A ZooKeeper ensemble of three. */
import { exchange } from '../../testbed/exchange.ts'
import type { Testbed } from '../../testbed/testbed.ts'
import type { Backend } from './backend.ts'
import { clockDeeds, type Clocks } from './clock.ts'
import { QUORUM_COUNT, quorumBackend } from './quorum.ts'
import { versionOf } from './versions.ts'

export async function zookeeperBackend(bed: Testbed, clocks: Clocks): Promise<Backend> {
  const clock = await clocks.make('zookeeper')
  return quorumBackend({
    scheme: 'zookeeper',
    version: await versionOf('zookeeper'),
    group: await bed.zookeeper(QUORUM_COUNT, {
      durable: true,
      config: { maxCnxns: 1_000 },
      ...(clock.env === null ? {} : { env: clock.env }),
    }),
    leads,
    revokesLate: false,
    spoilt: 'a server that comes back with less than it had voted for is outside of what ZooKeeper promises',
    suffers: { kind: 'zookeeper', spared: { 'upgrade-server': 'its version is its archives: not tried' } },
    // Sessions are timed by the monotonic clock: a step of the wall clock of all three must do nothing at all.
    deeds: clockDeeds(clock, 'all servers', false),
    lacks: {
      flush: 'there is no such command',
      'terminate-session': 'only the session itself can end itself',
      ...clock.lacks,
    },
  })
}

async function leads(port: number): Promise<boolean> {
  try {
    const said = await exchange({
      port,
      send: 'srvr',
      done: (bytes) => bytes.includes('Node count:'),
      timeoutMs: 1_000,
    })
    return said.includes('Mode: leader')
  } catch (error) {
    // A server that does not answer does not lead.
    if (error instanceof Error) return false
    throw error
  }
}
