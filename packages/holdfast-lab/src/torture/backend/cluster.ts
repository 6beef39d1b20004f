/** A Redis Cluster: three primaries with a replica each. */
import { redisAsk } from '../../testbed/redis.ts'
import type { Server } from '../../testbed/server.ts'
import type { Testbed } from '../../testbed/testbed.ts'
import type { Random } from '../random.ts'
import type { Backend } from './backend.ts'
import { clockDeeds, type Clocks } from './clock.ts'
import { killServer, NO_VOTES, pauseServer } from './deeds.ts'
import { Gates } from './gates.ts'
import { endSessions, flush, startOptions } from './redis.ts'
import { versionOf } from './versions.ts'

/** A primary that was stopped learns of its successor with the next heartbeat of the others. */
const STALE_MS = 3_000

export async function clusterBackend(bed: Testbed, clocks: Clocks): Promise<Backend> {
  const clock = await clocks.make('cluster')
  const { servers, url } = await bed.cluster(startOptions(clock))
  const gates = new Gates(servers, (addresses) => `redis+cluster://${addresses}`)
  const primary = (random: Random): Promise<Server> => anyPrimary(servers, random)
  return {
    versions: `${await versionOf('redis')}, 3 primaries, 3 replicas`,
    url,
    failoverMs: 15_000,
    ttlMs: 1_500,
    deeds: {
      'pause-server': pauseServer(primary, { ms: 3_000, forgets: true, graceMs: STALE_MS }),
      failover: killServer(primary, { downMs: 4_000, forgets: true, graceMs: STALE_MS }),
      flush: flush(servers),
      'terminate-session': endSessions(servers),
      // Of all nodes: they time each other by it too, so that a step may make them fail over.
      ...clockDeeds(clock, 'all nodes'),
    },
    lacks: {
      'stop-leader': NO_VOTES,
      'kill-server': 'what is killed is failed over from: see failover',
      'restart-empty': 'an empty node does not know that it belongs to the cluster',
      'restart-truncated': 'these servers keep nothing on disk',
      lag: 'nodes find each other by themselves, and can not be led through a proxy',
      ...clock.lacks,
    },
    gate: () => gates.open(),
    close: () => gates.close(),
  }
}

async function anyPrimary(servers: readonly Server[], random: Random): Promise<Server> {
  const primaries: Server[] = []
  for (const server of servers.filter(({ running }) => running)) {
    if (await isPrimary(server)) primaries.push(server)
  }
  const one = random.pick(primaries) ?? servers[0]
  if (one === undefined) throw new RangeError('there are no servers to hit')
  return one
}

async function isPrimary(server: Server): Promise<boolean> {
  try {
    return (await redisAsk(server.port, '', ['INFO', 'replication'])).includes('role:master')
  } catch (error) {
    // One that does not answer is none to hit.
    if (error instanceof Error) return false
    throw error
  }
}
