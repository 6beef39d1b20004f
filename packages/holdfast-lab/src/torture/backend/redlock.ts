/** Independent Redis servers, as Redlock wants them: a majority of them decides. */
import type { Testbed } from '../../testbed/testbed.ts'
import type { Backend } from './backend.ts'
import { clockDeeds, type Clocks, unmoved } from './clock.ts'
import { anyOf, killServer, NO_VOTES, pauseServer, spoilServer } from './deeds.ts'
import { Gates } from './gates.ts'
import { answersWait, cutTail, dropData, endSessions, flush, startOptions } from './redis.ts'
import { RedlockServers } from './redlock-servers.ts'
import { versionOf } from './versions.ts'

const COUNT = 3
/** Empty servers that can replace others, or join them. Every client knows them from the beginning. */
const SPARES = 2
/** The longest lease of the deployment: a server that restarted gives no votes for so long. */
const MAX_TTL_MS = 2_000

export async function redlockBackend(bed: Testbed, clocks: Clocks): Promise<Backend> {
  // The clock of one server only: to move all of them is to move the time of the whole deployment.
  const clock = await clocks.make('redlock')
  const moved = await bed.redlock(1, { appendonly: 'everysec', ...startOptions(clock) })
  const others = await bed.redlock(COUNT + SPARES - 1, { appendonly: 'everysec', ...startOptions(unmoved('')) })
  const servers = [...moved.servers, ...others.servers]
  const deployment = new RedlockServers(servers, COUNT)
  await deployment.init(MAX_TTL_MS)
  const any = anyOf(deployment.present)
  const makeUrl = (addresses: string): string => `redlock://${addresses}?maxTtlMs=${MAX_TTL_MS}`
  const gates = new Gates(servers, makeUrl)
  return {
    versions: `${await versionOf('redis')} × ${COUNT}`,
    url: makeUrl(servers.map(({ port }) => `127.0.0.1:${port}`).join(',')),
    failoverMs: 2 * MAX_TTL_MS + 2_000,
    ttlMs: 1_500,
    deeds: {
      'pause-server': pauseServer(any, { ms: 2_000 }),
      'kill-server': killServer(any, { downMs: 1_000 }),
      // One node that forgets must do no harm: it has no vote until every lease of before has ended.
      'restart-empty': spoilServer(any, { spoil: dropData, forgets: false }),
      'restart-truncated': spoilServer(any, { spoil: cutTail, forgets: false }),
      // The marker goes with the data: nobody votes until every lease has ended.
      flush: { ...flush(servers), forgets: false },
      'terminate-session': endSessions(servers),
      'replace-server': deployment.replace(),
      resize: deployment.resize(),
      ...clockDeeds(clock, moved.servers[0]?.name ?? ''),
    },
    lacks: {
      failover: 'its servers know nothing of each other',
      'stop-leader': NO_VOTES,
      lag: 'its servers have no replicas',
      ...clock.lacks,
    },
    sufferers: {
      servers: deployment.present,
      kind: 'redis',
      program: 'redis-server',
      aroundSlowDisk: answersWait(deployment.present),
    },
    gate: () => gates.open(),
    close: () => gates.close(),
  }
}
