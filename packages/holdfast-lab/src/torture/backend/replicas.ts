/** A SQL primary and its replica, of whichever kind: nothing is lost while the replica is waited for. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { StartOptions } from '../../testbed/bed.ts'
import type { ReplicaPair } from '../../testbed/replica-pair.ts'
import type { Server } from '../../testbed/server.ts'
import type { Backend, Deed } from './backend.ts'
import { clockDeeds, type Clocks } from './clock.ts'
import { NO_VOTES, once, pauseServer } from './deeds.ts'
import { Gates } from './gates.ts'

export interface ReplicaKind {
  readonly name: string
  readonly versions: string
  /** The primary answers a commit only when the replica has it. */
  readonly start: (o: StartOptions) => Promise<ReplicaPair>
  /** From now on commits are answered without the replica. */
  readonly hurry: (primary: Server) => Promise<void>
  /** An administrator throws all clients out; they may come back at once. */
  readonly endSessions: (primary: Server) => Promise<void>
}

export async function replicaBackend(clocks: Clocks, kind: ReplicaKind): Promise<Backend> {
  const clock = await clocks.make(kind.name)
  const pair = await kind.start(clock.env === null ? {} : { env: clock.env })
  const gates = new Gates([pair.front], (addresses) => pair.url.replace(`127.0.0.1:${pair.front.port}`, addresses))
  const primary = (): Server => pair.primary
  return {
    versions: `${kind.versions}, 1 primary, 1 replica that is waited for`,
    url: pair.url,
    failoverMs: 15_000,
    ttlMs: 1_500,
    deeds: {
      'pause-server': pauseServer(primary, { ms: 1_500 }),
      failover: failover(pair),
      lag: lag(pair, kind.hurry),
      'terminate-session': once('all sessions', false, () => kind.endSessions(pair.primary)),
      ...clockDeeds(clock, 'primary and replica'),
    },
    lacks: {
      'stop-leader': NO_VOTES,
      'kill-server': 'what is killed is failed over from: see failover',
      'restart-empty': 'a database that comes back without its tables is not set up',
      'restart-truncated': 'its log is checked by sums: a cut tail is what it recovers from, not what it keeps',
      flush: 'there is no one command that empties it',
      ...clock.lacks,
    },
    gate: () => gates.open(),
    close: async () => {
      await gates.close()
      pair.close()
      await pair.stream.close()
    },
  }
}

/** How long there are two primaries, before the old one is emptied. */
const SPLIT_MS = 1_500

/**
 * The replica, which has all that was answered, takes over. Every other time the old primary lives on, and whoever was
 * connected to it stays there: it must grant nothing any more.
 */
function failover(pair: ReplicaPair): Deed {
  return {
    forgets: false,
    aim: (random) => {
      const old = pair.primary
      const lives = random.chance(0.5)
      return Promise.resolve({
        target: lives ? `${old.name}, which lives on` : old.name,
        lastsMs: SPLIT_MS * (0.5 + random.next()),
        strike: async () => {
          if (lives) await pair.stream.set({ toClient: 'hold', toServer: 'hold' })
          else await old.kill()
          await pair.promote({ cut: !lives })
        },
        heal: () => pair.rejoin(),
      })
    },
  }
}

/** For so long the primary answers alone. */
const LAGGING_MS = 1_500

/** Nobody waits for the replica, which hears nothing; then the primary dies, and what was answered since is gone. */
function lag(pair: ReplicaPair, hurry: (primary: Server) => Promise<void>): Deed {
  return {
    forgets: true,
    aim: () => {
      const old = pair.primary
      return Promise.resolve({
        target: old.name,
        lastsMs: 1_000,
        // What was granted before lasts until its lease is over.
        graceMs: LAGGING_MS * 2,
        strike: async () => {
          await hurry(old)
          await pair.stream.set({ toClient: 'hold' })
          await sleep(LAGGING_MS)
          await old.kill()
          await pair.promote()
        },
        heal: () => pair.rejoin(),
      })
    },
  }
}
