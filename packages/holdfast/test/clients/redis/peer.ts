/** A TCP peer that follows a script: it reads commands and sends the bytes it is told to. It knows nothing of Redis. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { Parser } from '../../../src/clients/redis/parser.ts'
import type { Reply } from '../../../src/clients/redis/reply.ts'

/** What to do with a command; a string is sent back as bytes, undefined means silence. */
export type Act = (args: readonly string[], socket: Socket) => string | undefined

export interface Peer {
  readonly port: number
  /** Every command of every connection, joined by spaces. */
  readonly heard: string[]
  /** Sockets in the order they came. */
  readonly sockets: Socket[]
  /** Changes the script. */
  act: Act
  /** Resolves when `heard` has this many commands. */
  whenHeard(count: number): Promise<void>
  whenConnected(count: number): Promise<void>
  stop(): Promise<void>
}

export const HELLO_OK = '%1\r\n+proto\r\n:3\r\n'

/** Answers HELLO and leaves the rest to `act`. */
export function greeting(act: Act = () => undefined): Act {
  return (args, socket) => (args[0] === 'HELLO' ? HELLO_OK : act(args, socket))
}

export async function startPeer(act: Act = greeting(), port = 0): Promise<Peer> {
  const server: Server = createServer()
  const waiters = new Set<() => void>()
  const changed = (): void => {
    for (const waiter of waiters) waiter()
  }
  const until = (done: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!done()) return
        waiters.delete(look)
        resolve()
      }
      waiters.add(look)
      look()
    })
  server.on('connection', (socket) => {
    peer.sockets.push(socket)
    socket.on('error', () => undefined)
    const onReply = (reply: Reply): void => {
      const args = (reply as Reply[]).map(String)
      peer.heard.push(args.join(' '))
      const answer = peer.act(args, socket)
      if (answer !== undefined && !socket.destroyed) socket.write(answer)
      changed()
    }
    const parser = new Parser(
      { wantsBuffers: () => false, onReply, onPush: () => undefined },
      { maxReplyBytes: 2 ** 28, maxDepth: 2 },
    )
    socket.on('data', (bytes) => parser.feed(bytes))
    changed()
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const peer: Peer = {
    port: (server.address() as AddressInfo).port,
    heard: [],
    sockets: [],
    act,
    whenHeard: (count) => until(() => peer.heard.length >= count),
    whenConnected: (count) => until(() => peer.sockets.length >= count),
    stop: async () => {
      for (const socket of peer.sockets) socket.destroy()
      server.close()
      if (server.listening) await once(server, 'close')
    },
  }
  return peer
}
