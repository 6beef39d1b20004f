/** A TCP proxy between client and server that can cut, refuse, and swallow. */
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

export class Proxy {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  /** Bytes are taken and thrown away, in both directions; the connections stay. */
  swallow = false
  /** New connections are reset. */
  refuse = false

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
        from.on('data', (bytes) => {
          if (!this.swallow) to.write(bytes)
        })
        from.on('error', () => undefined) // a cut on one side is a close on the other
        from.on('close', () => {
          this.#sockets.delete(from)
          if (!this.swallow) to.destroy()
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

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
