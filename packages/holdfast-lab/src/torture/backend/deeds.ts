/** What can be done to a server of any kind. */
import type { Server } from '../../testbed/server.ts'
import type { Random } from '../random.ts'
import type { Deed } from './backend.ts'

/** Picks the server to hit: any server, or the leader. */
export type Pick = (random: Random) => Server | Promise<Server>

export function anyOf(servers: readonly Server[]): Pick {
  return (random) => {
    const server = random.pick(servers)
    if (server === undefined) throw new RangeError('there are no servers to hit')
    return server
  }
}

/** The server stands still for `ms`, with its connections open. */
export function pauseServer(
  pick: Pick,
  o: { readonly ms: number; readonly forgets?: boolean; readonly graceMs?: number },
): Deed {
  return {
    forgets: o.forgets ?? false,
    aim: async (random) => {
      const server = await pick(random)
      return {
        target: server.name,
        lastsMs: o.ms * (0.5 + random.next()),
        graceMs: o.graceMs ?? 0,
        strike: () => server.pause(),
        heal: () => server.resume(),
      }
    },
  }
}

/** For a store without elections. */
export const NO_VOTES = 'no server of it leads by the votes of the others; what there is, pause-server stops'

/** The server stands still for longer than the lease. When it goes on, it does not know that another one leads. */
export function stopPastLease(pick: Pick, o: { readonly forgets: boolean; readonly graceMs: number }): Deed {
  return {
    forgets: o.forgets,
    aim: async (random, ttlMs) => {
      const server = await pick(random)
      return {
        target: server.name,
        lastsMs: ttlMs * (1.2 + random.next()),
        graceMs: o.graceMs,
        strike: () => server.pause(),
        heal: () => server.resume(),
      }
    },
  }
}

/** The server is killed, and started again with its data. */
export function killServer(
  pick: Pick,
  o: { readonly downMs: number; readonly forgets?: boolean; readonly graceMs?: number },
): Deed {
  return {
    forgets: o.forgets ?? false,
    aim: async (random) => {
      const server = await pick(random)
      return {
        target: server.name,
        lastsMs: o.downMs * random.next(),
        graceMs: o.graceMs ?? 0,
        strike: () => server.kill(),
        heal: () => server.start(),
      }
    },
  }
}

/** The server is killed, something is done to its data, and it is started again at once. */
export function spoilServer(
  pick: Pick,
  o: { readonly spoil: (server: Server) => Promise<void>; readonly forgets: boolean; readonly graceMs?: number },
): Deed {
  return {
    forgets: o.forgets,
    aim: async (random) => {
      const server = await pick(random)
      return {
        target: server.name,
        lastsMs: 0,
        graceMs: o.graceMs ?? 0,
        strike: async () => {
          await server.kill()
          await o.spoil(server)
        },
        heal: () => server.start(),
      }
    },
  }
}

/** A fault of the store as a whole, made in one moment. */
export function once(target: string, forgets: boolean, act: () => Promise<void>, graceMs = 0): Deed {
  return {
    forgets,
    aim: () => Promise.resolve({ target, lastsMs: 0, graceMs, strike: act, heal: () => undefined }),
  }
}
