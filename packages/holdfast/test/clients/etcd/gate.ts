/** A TCP gate in front of a server: it can be shut, and counts what passes. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

export class Gate {
  readonly #server: Server
  readonly #sockets: Set<Socket> = new Set()
  #open = true
  /** Connections made through the gate so far. */
  connections = 0
  /** Called for every piece that a client sends. */
  onSent: () => void = () => {}

  constructor(target: string) {
    const { port } = new URL(target)
    this.#server = createServer((client) => {
      if (this.#open) this.#pass(client, Number(port))
      else client.destroy()
    })
  }

  #pass(client: Socket, port: number): void {
    this.connections++
    const upstream = connect(port, '127.0.0.1')
    client.on('data', () => this.onSent())
    this.#join(client, upstream)
    this.#join(upstream, client)
  }

  #join(from: Socket, to: Socket): void {
    this.#sockets.add(from)
    from.pipe(to)
    from.on('error', () => to.destroy())
    from.on('close', () => {
      this.#sockets.delete(from)
      to.destroy()
    })
  }

  /** Starts listening; answers the address to use instead of the server's. */
  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Cuts every connection and takes no new ones. */
  shut(): void {
    this.#open = false
    for (const socket of this.#sockets) socket.destroy()
  }

  open(): void {
    this.#open = true
  }

  async close(): Promise<void> {
    this.shut()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
