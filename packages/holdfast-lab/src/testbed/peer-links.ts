/**
 * The connections between etcd members, each of which can be cut: a member is cut off from the others, not from its
 * clients.
 */
import { once } from 'node:events'
import { connect, createServer, type Server as NetServer, type Socket } from 'node:net'

interface Link {
  /** The member that opened the connection, by its own name; '' if it gave none. */
  readonly from: string
  readonly to: number
  readonly sockets: readonly Socket[]
}

/** Members say in each request who they are. */
const FROM = /^x-server-from: *([0-9a-f]+)/im

export class PeerLinks {
  readonly #servers: NetServer[] = []
  readonly #links = new Set<Link>()
  #cut: { readonly id: string; readonly port: number } | null = null

  /** A port that leads to a member's own peer port. */
  async lead(port: number): Promise<number> {
    const server = createServer((socket) => this.#connected(socket, port))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    this.#servers.push(server)
    return (server.address() as { readonly port: number }).port
  }

  /** Nothing reaches or leaves this member any more, and nobody is told, as on a broken network. */
  cut(id: bigint, port: number): void {
    this.#cut = { id: id.toString(16), port }
    for (const link of this.#links) if (this.#isCut(link)) silence(link)
  }

  /** New connections work again; those that were cut have lost bytes, so they end. */
  heal(): void {
    this.#cut = null
    for (const link of this.#links) for (const socket of link.sockets) socket.destroy()
  }

  close(): void {
    this.heal()
    for (const server of this.#servers) server.close()
  }

  #isCut({ from, to }: Pick<Link, 'from' | 'to'>): boolean {
    return this.#cut !== null && (this.#cut.port === to || this.#cut.id === from)
  }

  #connected(socket: Socket, to: number): void {
    socket.on('error', () => socket.destroy())
    socket.once('data', (first) => {
      const from = FROM.exec(first.toString('latin1'))?.[1] ?? ''
      const target = connect(to, '127.0.0.1')
      const link: Link = { from, to, sockets: [socket, target] }
      this.#links.add(link)
      target.on('error', () => socket.destroy())
      target.on('close', () => socket.destroy())
      socket.on('close', () => {
        target.destroy()
        this.#links.delete(link)
      })
      target.write(first)
      socket.pipe(target)
      target.pipe(socket)
      if (this.#isCut(link)) silence(link)
    })
  }
}

function silence({ sockets }: Link): void {
  for (const socket of sockets) {
    socket.unpipe()
    socket.pause()
  }
}
