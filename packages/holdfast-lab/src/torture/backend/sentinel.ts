/** A Redis primary with two replicas, watched by Sentinels. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type FaultProxy, faultProxy } from '../../testbed/proxy.ts'
import { redisAsk } from '../../testbed/redis.ts'
import type { SentinelGroup } from '../../testbed/sentinel.ts'
import type { Server } from '../../testbed/server.ts'
import type { Testbed } from '../../testbed/testbed.ts'
import type { Backend, Deed } from './backend.ts'
import { clockDeeds, type Clocks } from './clock.ts'
import { killServer, NO_VOTES, pauseServer, type Pick, spoilServer } from './deeds.ts'
import { Gates } from './gates.ts'
import { dropData, endSessions, flush, startOptions } from './redis.ts'
import { versionOf } from './versions.ts'

/** A deposed primary goes on granting until Sentinel looks at it again, every 10 s. */
const STALE_MS = 13_000

export async function sentinelBackend(bed: Testbed, clocks: Clocks): Promise<Backend> {
  const clock = await clocks.make('sentinel')
  const group = await bed.sentinel(startOptions(clock))
  const nodes = [group.primary, ...group.replicas]
  const primary: Pick = () => group.currentPrimary()
  const master = group.url.slice(group.url.lastIndexOf('/') + 1)
  const gates = new Gates(group.sentinels, (addresses) => `redis+sentinel://${addresses}/${master}`, nodes)
  return {
    versions:
      `${await versionOf('redis')}, 1 primary, ${group.replicas.length} replicas, ${group.sentinels.length} ` +
      `Sentinels`,
    url: group.url,
    failoverMs: 15_000,
    ttlMs: 1_500,
    deeds: {
      'pause-server': pauseServer(primary, { ms: 4_000, forgets: true, graceMs: STALE_MS }),
      failover: killServer(primary, { downMs: 4_000, forgets: true, graceMs: STALE_MS }),
      'restart-empty': spoilServer(primary, { spoil: dropData, forgets: true, graceMs: STALE_MS }),
      lag: lag(group, nodes),
      flush: flush(nodes),
      'terminate-session': endSessions(nodes),
      // The clocks of primary and replicas, not those of the Sentinels, which judge silence and not time.
      ...clockDeeds(clock, 'primary and replicas'),
    },
    lacks: {
      'stop-leader': NO_VOTES,
      'kill-server': 'what is killed is failed over from: see failover',
      'restart-truncated': 'these servers keep nothing on disk: see restart-empty',
      ...clock.lacks,
    },
    gate: () => gates.open(),
    close: () => gates.close(),
  }
}

/** How late replicas hear of everything. */
const LAG_MS = 60
/** Sentinel leads them back to the primary's own address after 10 s. */
const LAGGING_MS = 1_500

/** Both replicas are led through a slow line; then the primary is killed, and what they had not heard of is gone. */
function lag(group: SentinelGroup, nodes: readonly Server[]): Deed {
  return {
    forgets: true,
    aim: async () => {
      const primary = await group.currentPrimary()
      let proxy: FaultProxy | null = null
      return {
        target: primary.name,
        lastsMs: 3_000,
        graceMs: STALE_MS,
        strike: async () => {
          proxy = await faultProxy({ port: primary.port })
          await proxy.set({ delayMs: { toClient: LAG_MS } })
          for (const node of nodes) {
            if (node === primary) continue
            await redisAsk(node.port, '', ['REPLICAOF', proxy.host, String(proxy.port)])
          }
          await sleep(LAGGING_MS)
          await primary.kill()
        },
        heal: async () => {
          await proxy?.close()
          if (!primary.running) await primary.start()
        },
      }
    },
  }
}
