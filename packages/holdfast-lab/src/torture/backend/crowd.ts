/** Thousands of connections, until the server takes no more: who is connected goes on, who comes then is told. */
import { type Socket, connect } from 'node:net'
import type { Server } from '../../testbed/server.ts'
import type { Deed } from './backend.ts'
import type { Pick } from './deeds.ts'

/** More than any of our servers is told to take, save those that know no limit. */
const CROWD = 2_500
/** At once. */
const RANK = 250

/** Connects and says nothing, or says `hello`, where only a session counts. */
export function crowd(pick: Pick, hello?: Buffer): Deed {
  return {
    forgets: false,
    aim: async (random, ttlMs) => {
      const server = await pick(random)
      const sockets: Socket[] = []
      return {
        target: server.name,
        lastsMs: ttlMs * (1 + random.next()),
        strike: async () => {
          for (let left = CROWD; left > 0; left -= RANK) await Promise.all(rank(server, hello, sockets))
        },
        heal: () => {
          for (const socket of sockets) socket.destroy()
        },
      }
    },
  }
}

function rank({ port }: Server, hello: Buffer | undefined, sockets: Socket[]): Promise<void>[] {
  return Array.from({ length: RANK }, () => {
    const socket = connect(port, '127.0.0.1')
    sockets.push(socket)
    // One that is refused is a part of it.
    socket.on('error', () => undefined)
    // What the server says is taken from it and not read: else the end of a connection is not seen.
    socket.resume()
    return new Promise<void>((resolve) => {
      socket.once('connect', () => {
        if (hello !== undefined) socket.write(hello)
        resolve()
      })
      socket.once('close', () => resolve())
    })
  })
}
