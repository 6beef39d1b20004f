/** One SQL server, of any kind: which faults can be made, and which can't. */
import type { StartOptions } from '../../testbed/bed.ts'
import type { Server } from '../../testbed/server.ts'
import type { Backend } from './backend.ts'
import { clockDeeds, type Clocks } from './clock.ts'
import { anyOf, killServer, NO_VOTES, once, pauseServer } from './deeds.ts'
import { Gates } from './gates.ts'
import type { Sufferers } from './hardships.ts'

export interface SqlKind {
  readonly name: string
  readonly versions: string
  readonly failoverMs: number
  readonly start: (o: StartOptions) => Promise<Server>
  readonly suffers: Omit<Sufferers, 'servers'>
  /** An administrator closes all connections; clients may come back at once. */
  readonly endSessions: (url: string) => Promise<void>
}

export async function sqlBackend(clocks: Clocks, kind: SqlKind): Promise<Backend> {
  const clock = await clocks.make(kind.name)
  const server = await kind.start(clock.env === null ? {} : { env: clock.env })
  const one = anyOf([server])
  const gates = new Gates([server], (addresses) => server.url.replace(`127.0.0.1:${server.port}`, addresses))
  return {
    versions: kind.versions,
    url: server.url,
    failoverMs: kind.failoverMs,
    ttlMs: 1_500,
    deeds: {
      'pause-server': pauseServer(one, { ms: 1_500 }),
      'kill-server': killServer(one, { downMs: 800 }),
      'terminate-session': once('all sessions', false, () => kind.endSessions(server.url)),
      ...clockDeeds(clock, server.name),
    },
    lacks: {
      failover: 'one server has none to fail over to',
      'stop-leader': NO_VOTES,
      lag: 'one server has no replica',
      'restart-empty': 'a database that comes back without its tables is not set up',
      'restart-truncated': 'its log is checked by sums: a cut tail is what it recovers from, not what it keeps',
      flush: 'there is no one command that empties it',
      ...clock.lacks,
    },
    sufferers: { servers: [server], ...kind.suffers },
    gate: () => gates.open(),
    close: () => gates.close(),
  }
}
