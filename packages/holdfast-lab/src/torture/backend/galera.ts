/** A Galera cluster of three, with clients on every node. */
import { type Front, startFront } from '../../testbed/front.ts'
import type { GaleraGroup } from '../../testbed/galera.ts'
import { mariadbAsk } from '../../testbed/mariadb-ask.ts'
import type { Server } from '../../testbed/server.ts'
import type { Testbed } from '../../testbed/testbed.ts'
import type { Backend, Deed } from './backend.ts'
import { clockDeeds, type Clocks } from './clock.ts'
import { anyOf, NO_VOTES, once } from './deeds.ts'
import { Gates } from './gates.ts'
import { endSessions } from './mysql.ts'
import { versionOf } from './versions.ts'

const NODES = 3

export async function galeraBackend(bed: Testbed, clocks: Clocks): Promise<Backend> {
  const clock = await clocks.make('galera')
  const group = await bed.galera(NODES, clock.env === null ? {} : { env: clock.env })
  const fronts = await Promise.all(group.servers.map(startFront))
  const urlOf = (address: string): string => group.url.replace(/127\.0\.0\.1:\d+/, address)
  const gates = fronts.map((front) => new Gates([front], urlOf))
  return {
    versions: `${await versionOf('mariadb')}, ${NODES} nodes of Galera`,
    url: urlOf(`127.0.0.1:${fronts[0]?.port}`),
    failoverMs: 15_000,
    ttlMs: 1_500,
    deeds: {
      'pause-server': pauseNode(group),
      'kill-server': lose(group, null),
      failover: lose(group, fronts),
      'terminate-session': once('all sessions', false, async () => {
        for (const { url } of group.servers) await endSessions(url)
      }),
      ...clockDeeds(clock, 'all nodes'),
    },
    lacks: {
      'stop-leader': NO_VOTES,
      lag: 'a write is in the queue of every node before it is answered',
      'restart-empty': 'a node that comes back is given its data by the others',
      'restart-truncated': 'a node that comes back is given its data by the others',
      flush: 'there is no one command that empties it',
      ...clock.lacks,
    },
    // The clients with cables are all on the first node; the others take the nodes in turn.
    gate: (at) => (gates[at % NODES] as Gates).open(),
    close: async () => {
      for (const each of gates) await each.close()
      for (const front of fronts) front.close()
    },
  }
}

/** A node stands still for about as long as the others need to go on without it: sometimes longer, sometimes less. */
function pauseNode({ servers, joined }: GaleraGroup): Deed {
  return {
    forgets: false,
    aim: async (random) => {
      const node = await anyOf(servers)(random)
      return {
        target: node.name,
        lastsMs: 3_000 * (0.3 + random.next()),
        strike: () => node.pause(),
        heal: async () => {
          node.resume()
          await joined(node)
        },
      }
    },
  }
}

/**
 * A node is killed, or cut off from the others while it lives on: then its clients must be told of an outage. With
 * fronts, its clients are led to another node; otherwise they wait until the node is back.
 */
function lose({ servers, joined }: GaleraGroup, fronts: readonly Front[] | null): Deed {
  return {
    forgets: false,
    aim: async (random) => {
      const node = await anyOf(servers)(random)
      const at = servers.indexOf(node)
      const other = servers[(at + 1) % NODES] as Server
      const isolates = random.chance(0.5)
      return {
        target: isolates ? `${node.name}, cut off` : node.name,
        lastsMs: 3_000 * random.next(),
        strike: async () => {
          if (isolates) await isolate(node, 1)
          else await node.kill()
          fronts?.[at]?.leadTo(other, random.chance(0.5))
        },
        heal: async () => {
          if (isolates) await isolate(node, 0)
          else await node.start()
          await joined(node)
          fronts?.[at]?.leadTo(node)
        },
      }
    },
  }
}

async function isolate(node: Server, is: 0 | 1): Promise<void> {
  await mariadbAsk(node, `SET GLOBAL wsrep_provider_options = 'gmcast.isolate=${is}'`)
}
