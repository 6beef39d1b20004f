/** One Redis server with an append-only file. */
import { open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { redisAsk, type RedisOptions } from '../../testbed/redis.ts'
import type { Server } from '../../testbed/server.ts'
import type { Testbed } from '../../testbed/testbed.ts'
import type { Backend, Deed } from './backend.ts'
import { type Clock, clockDeeds, type Clocks } from './clock.ts'
import { anyOf, killServer, NO_VOTES, once, pauseServer, spoilServer } from './deeds.ts'
import { Gates } from './gates.ts'
import type { Around } from './slow-disk.ts'
import { versionOf } from './versions.ts'

export async function redisBackend(bed: Testbed, clocks: Clocks): Promise<Backend> {
  const clock = await clocks.make('redis')
  const server = await bed.redis({ appendonly: 'everysec', ...startOptions(clock) })
  const one = anyOf([server])
  const gates = new Gates([server], (addresses) => `redis://${addresses}`)
  return {
    versions: await versionOf('redis'),
    url: server.url,
    failoverMs: 1_000,
    ttlMs: 1_000,
    deeds: {
      'pause-server': pauseServer(one, { ms: 1_500 }),
      // A kill does not touch the page cache: the file still has everything after the restart.
      'kill-server': killServer(one, { downMs: 800 }),
      'restart-empty': spoilServer(one, { spoil: dropData, forgets: true }),
      'restart-truncated': spoilServer(one, { spoil: cutTail, forgets: true }),
      flush: flush([server]),
      'terminate-session': endSessions([server]),
      ...clockDeeds(clock, server.name),
    },
    lacks: {
      failover: 'one server has none to fail over to',
      'stop-leader': NO_VOTES,
      lag: 'one server has no replica',
      ...clock.lacks,
    },
    sufferers: { servers: [server], kind: 'redis', program: 'redis-server', aroundSlowDisk: answersWait([server]) },
    gate: () => gates.open(),
    close: () => gates.close(),
  }
}

/** For a server with a movable clock that clients with cables reach: for Redis these do not come from loopback. */
export function startOptions(clock: Clock): Pick<RedisOptions, 'config' | 'env'> {
  return {
    config: { 'protected-mode': 'no', maxclients: CLIENTS_MAX },
    ...(clock.env === null ? {} : { env: clock.env }),
  }
}

/** The most clients that Redis takes: more than our own, fewer than a crowd. */
const CLIENTS_MAX = 1_000

/** Meanwhile every answer waits for the disk. By default only a background thread would wait. */
export function answersWait(servers: readonly Server[]): Around {
  const sync = async (when: 'always' | 'everysec'): Promise<void> => {
    for (const server of servers) await redisAsk(server.port, '', ['CONFIG', 'SET', 'appendfsync', when])
  }
  return { before: () => sync('always'), after: () => sync('everysec') }
}

export function dropData(server: Server): Promise<void> {
  return rm(server.data, { recursive: true, force: true })
}

/** So many bytes of the newest append-only file: some hundred commands, as much as a second without fsync may hold. */
const TAIL_BYTES = 20_000

export async function cutTail(server: Server): Promise<void> {
  const folder = join(server.data, 'appendonlydir')
  const names = (await readdir(folder)).filter((name) => name.endsWith('.incr.aof')).toSorted()
  const newest = names.at(-1)
  if (newest === undefined) throw new Error(`${server.name} has no append-only file in ${folder}`)
  const file = await open(join(folder, newest), 'r+')
  try {
    const { size } = await file.stat()
    await file.truncate(Math.max(0, size - TAIL_BYTES))
  } finally {
    await file.close()
  }
}

/** An operator empties the server. */
export function flush(servers: readonly Server[]): Deed {
  return once('all data', true, async () => {
    for (const server of servers) await redisAsk(server.port, '', ['FLUSHALL'])
  })
}

/** An administrator closes all connections; clients may come back at once. */
export function endSessions(servers: readonly Server[]): Deed {
  return once('all sessions', false, async () => {
    for (const server of servers) await redisAsk(server.port, '', ['CLIENT', 'KILL', 'TYPE', 'normal'])
  })
}
