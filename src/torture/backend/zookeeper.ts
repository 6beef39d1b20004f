/** A ZooKeeper ensemble of three. */
import { exchange } from '../../testbed/exchange.ts'
import type { Server } from '../../testbed/server.ts'
import type { Testbed } from '../../testbed/testbed.ts'
import type { Backend } from './backend.ts'
import { clockDeeds, type Clocks } from './clock.ts'
import { anyOf, killServer, pauseServer, type Pick } from './deeds.ts'
import { Gates } from './gates.ts'
import { versionOf } from './versions.ts'

const COUNT = 3

export async function zookeeperBackend(bed: Testbed, clocks: Clocks): Promise<Backend> {
  const clock = await clocks.make('zookeeper')
  const { servers, url } = await bed.zookeeper(COUNT, clock.env === null ? {} : { env: clock.env })
  const gates = new Gates(servers, (addresses) => `zookeeper://${addresses}`)
  const spoilt = 'a server that comes back with less than it had voted for is outside of what ZooKeeper promises'
  return {
    versions: `${await versionOf('zookeeper')} × ${COUNT}`,
    url,
    failoverMs: 8_000,
    ttlMs: 2_000,
    deeds: {
      'pause-server': pauseServer(anyOf(servers), { ms: 2_500 }),
      'kill-server': killServer(anyOf(servers), { downMs: 1_500 }),
      failover: killServer(leader(servers), { downMs: 2_500 }),
      // Sessions are timed by the monotonic clock: a step of the wall clock of all three must do nothing at all.
      ...clockDeeds(clock, 'all servers', false),
    },
    lacks: {
      'restart-empty': spoilt,
      'restart-truncated': spoilt,
      lag: 'a write is confirmed by a majority before it is answered',
      flush: 'there is no such command',
      'terminate-session': 'only the session itself can end itself',
      ...clock.lacks,
    },
    gate: () => gates.open(),
    close: () => gates.close(),
  }
}

function leader(servers: readonly Server[]): Pick {
  return async (random) => {
    for (const server of servers) if (await leads(server.port)) return server
    return anyOf(servers)(random)
  }
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
    // One that does not answer does not lead.
    if (error instanceof Error) return false
    throw error
  }
}
