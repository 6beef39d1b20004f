/** Somebody between a client and its server who changes answers, frame by frame. */
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { FrameReader } from '../../../src/clients/zookeeper/frames.ts'

/** The frame without its length, to be changed in place. True: that was the last one to be shown. */
type Forge = (frame: Buffer) => boolean

export class Forger {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #grant: Forge | null = null
  #answer: Forge | null = null

  private constructor(server: Server, port: number) {
    this.#server = server
    server.on('connection', (near) => {
      const far = connect(port, '127.0.0.1')
      const frames = new FrameReader(2 ** 22)
      let seen = 0
      near.pipe(far)
      far.on('data', (bytes: Buffer) => {
        frames.push(bytes, (frame) => {
          near.write(this.#forged(Buffer.from(frame), seen++ === 0))
          return true
        })
      })
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(socket)
        socket.on('error', () => undefined) // a cut on one side is a close on the other
        socket.on('close', () => {
          this.#sockets.delete(socket)
          other.destroy()
        })
      }
    })
  }

  static async to(port: number): Promise<Forger> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Forger(server, port)
  }

  get address(): string {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the forger does not listen')
    return `127.0.0.1:${address.port}`
  }

  /** The next grants of sessions, until `forge` says that this was the last. */
  grants(forge: Forge): void {
    this.#grant = forge
  }

  /** The next answers to requests. */
  answers(forge: Forge): void {
    this.#answer = forge
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #forged(frame: Buffer, isGrant: boolean): Buffer {
    if (isGrant) {
      if (this.#grant?.(frame) === true) this.#grant = null
    } else if (frame.readInt32BE(0) > 0 && this.#answer?.(frame) === true) this.#answer = null
    const length = Buffer.alloc(4)
    length.writeInt32BE(frame.length)
    return Buffer.concat([length, frame])
  }
}
