/** A TCP proxy between client and server that can cut, refuse, swallow, and deliver late. */
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

export class Proxy {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #clients = new Set<Socket>()
  readonly #late: (() => void)[] = []
  /** Bytes are taken and thrown away, in both directions; the connections stay. */
  swallow = false
  /** New connections are reset. */
  refuse = false
  /** Bytes to the server are kept back until \`deliver\`, also those of a client that has gone by then. */
  stall = false
  /** How often a server said something or hung up. */
  answers = 0

  private constructor(server: Server, port: number) {
    this.#server = server
    server.on('connection', (near) => {
      if (this.refuse) {
        near.resetAndDestroy()
        return
      }
      const far = connect(port, '127.0.0.1')
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(from)
        if (from === near) this.#clients.add(near)
        from.on('data', (bytes) => {
          if (from === far) this.answers++
          if (this.stall && from === near) this.#late.push(() => to.write(bytes))
          else if (!this.swallow) to.write(bytes)
        })
        from.on('error', () => undefined) // a cut on one side is a close on the other
        from.on('close', () => {
          if (from === far) this.answers++
          this.#sockets.delete(from)
          this.#clients.delete(from)
          if (!this.swallow && !this.stall) to.destroy()
        })
      }
    })
  }

  static async to(port: number): Promise<Proxy> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Proxy(server, port)
  }

  get address(): string {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the proxy does not listen')
    return `127.0.0.1:${address.port}`
  }

  get connections(): number {
    return this.#sockets.size / 2
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  /** How many writes of clients are kept back. */
  get stalled(): number {
    return this.#late.length
  }

  /** Ends the clients' sides, and leaves the server's as they are. */
  hangUp(): void {
    for (const socket of this.#clients) socket.destroy()
  }

  deliver(): void {
    this.stall = false
    for (const write of this.#late.splice(0)) write()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
