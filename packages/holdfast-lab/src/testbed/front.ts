/**
 * Stands for the name of a store: a virtual address, a proxy or a DNS name that leads to the present primary. New
 * connections can be led elsewhere; open connections stay where they are, unless they are cut.
 */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { freePort } from './port.ts'
import type { Server } from './server.ts'

export interface Front {
  readonly port: number
  /** The server that new connections reach. */
  readonly leadsTo: Server
  /** New connections reach this server; open ones stay, or are reset if `cut` (default false). */
  leadTo(server: Server, cut?: boolean): void
  close(): void
}

/** Listens on a free loopback port, and leads to this server. */
export async function startFront(first: Server): Promise<Front> {
  let target = first
  const sockets = new Set<Socket>()
  const listener = createServer((client) => {
    const upstream = connect(target.port, '127.0.0.1')
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      from.pipe(to)
    }
  })
  const port = await freePort()
  listener.listen(port, '127.0.0.1').unref()
  await once(listener, 'listening')
  const cutAll = (): void => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
  return {
    port,
    get leadsTo() {
      return target
    },
    leadTo(server, cut = false) {
      target = server
      if (cut) cutAll()
    },
    close() {
      listener.close()
      cutAll()
    },
  }
}
