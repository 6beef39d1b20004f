/** A newer version takes the place of a server: stopped in order, and started on the data that it left. */
import type { Server } from '../../testbed/server.ts'
import type { Deed } from './backend.ts'

/** The programs that come next. */
export interface Newer {
  readonly version: string
  readonly program: string
  readonly args: readonly string[]
}

/** One server after the other. A server that is new stays new, and is not a target again. */
export function upgradeServer(servers: readonly Server[], { version, program, args }: Newer): Deed {
  const old = [...servers]
  return {
    forgets: false,
    aim: (random) => {
      const server = random.pick(old)
      if (server === undefined) return Promise.resolve(null)
      old.splice(old.indexOf(server), 1)
      return Promise.resolve({
        target: `${server.name} to ${version}`,
        lastsMs: 0,
        strike: () => server.stop(),
        heal: () => {
          server.upgradeTo(program, args)
          return server.start()
        },
      })
    },
  }
}
