/** A scripted TCP peer: it speaks frames, byte by byte if need be, and knows nothing of ZooKeeper's semantics. */
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { FrameReader } from '../../../src/clients/zookeeper/frames.ts'
import { type ClientState, ZooKeeperClient, type ZooKeeperClientOptions } from '../../../src/clients/zookeeper/index.ts'
import { JuteReader, JuteWriter } from '../../../src/clients/zookeeper/jute.ts'

/** Things that arrive one by one and are awaited one by one. */
class Inbox<T> {
  readonly #items: T[] = []
  readonly #takers: ((item: T) => void)[] = []

  put(item: T): void {
    const taker = this.#takers.shift()
    if (taker === undefined) this.#items.push(item)
    else taker(item)
  }

  take(): Promise<T> {
    const item = this.#items.shift()
    if (item !== undefined) return Promise.resolve(item)
    return new Promise((resolve) => this.#takers.push(resolve))
  }
}

export interface Received {
  readonly xid: number
  readonly op: number
  /** Behind the header. */
  readonly body: JuteReader
  /** Which chunk of the connection completed it: requests of one write share it. */
  readonly chunk: number
}

export class PeerLink {
  readonly #socket: Socket
  readonly #frames = new Inbox<{ bytes: Buffer; chunk: number }>()
  readonly closed: Promise<unknown>

  constructor(socket: Socket) {
    this.#socket = socket
    const reader = new FrameReader(2 ** 20)
    let chunk = 0
    socket.setNoDelay(true)
    socket.on('error', () => undefined) // the client cuts, that is what is tested
    socket.on('data', (bytes: Buffer) => {
      chunk++
      reader.push(bytes, (frame) => {
        this.#frames.put({ bytes: Buffer.from(frame), chunk })
        return true
      })
    })
    this.closed = once(socket, 'close')
  }

  /** The handshake the client opened with. */
  async hello(): Promise<{ lastZxid: bigint; timeoutMs: number; sessionId: bigint; password: string }> {
    const reader = new JuteReader((await this.#frames.take()).bytes)
    reader.int()
    return {
      lastZxid: reader.long(),
      timeoutMs: reader.int(),
      sessionId: reader.long(),
      password: reader.buffer().toString(),
    }
  }

  async request(): Promise<Received> {
    const { bytes, chunk } = await this.#frames.take()
    const body = new JuteReader(bytes)
    return { xid: body.int(), op: body.int(), body, chunk }
  }

  send(...frames: Uint8Array[]): void {
    this.#socket.write(Buffer.concat(frames))
  }

  /** Each byte in a packet of its own, as far as the kernel lets us. */
  async trickle(bytes: Buffer): Promise<void> {
    for (const byte of bytes) {
      await new Promise((resolve) => this.#socket.write(Buffer.of(byte), resolve))
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  cut(): void {
    this.#socket.destroy()
  }
}

export class Peer {
  readonly #server: Server
  readonly #links = new Inbox<PeerLink>()
  readonly #sockets = new Set<Socket>()

  private constructor(server: Server) {
    this.#server = server
    server.on('connection', (socket) => {
      this.#sockets.add(socket)
      this.#links.put(new PeerLink(socket))
    })
  }

  static async listen(): Promise<Peer> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Peer(server)
  }

  get address(): string {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the peer does not listen')
    return `127.0.0.1:${address.port}`
  }

  link(): Promise<PeerLink> {
    return this.#links.take()
  }

  /** A connection whose handshake was answered. */
  async session(options: GrantOptions = {}): Promise<PeerLink> {
    const link = await this.link()
    await link.hello()
    link.send(grant(options))
    return link
  }

  /** Accepts no more connections; those that stand stay. */
  refuse(): void {
    this.#server.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    if (!this.#server.listening) return
    this.#server.close()
    await once(this.#server, 'close')
  }
}

const clients: ZooKeeperClient[] = []

/** A client of these peers. It does not wait for a peer that has no more to say when the test is over. */
export function clientOf(peers: readonly Peer[], options: Partial<ZooKeeperClientOptions> = {}): ZooKeeperClient {
  const client = new ZooKeeperClient({ servers: peers.map((peer) => peer.address), ...options })
  clients.push(client)
  return client
}

export async function closeClients(): Promise<void> {
  await Promise.all(clients.splice(0).map((client) => client.close({ timeoutMs: 1 })))
}

/** Waits for the client to come to a state; resolves to the reason it told. */
export function reached(client: ZooKeeperClient, wanted: ClientState): Promise<Error | undefined> {
  return new Promise((resolve) => {
    const stop = client.onState((state, cause) => {
      if (state !== wanted) return
      stop()
      resolve(cause)
    })
  })
}

/** What a promise rejects with; it must. */
export async function failure(promise: Promise<unknown>): Promise<unknown> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if ('error' in outcome) return outcome.error
  throw new Error(`expected a rejection, got ${String(outcome.value)}`)
}

interface GrantOptions {
  readonly timeoutMs?: number
  readonly sessionId?: bigint
  readonly readOnly?: boolean
}

export const PASSWORD = 'sixteen bytes ok'
export const SESSION_ID = 0x7fee_dcba_9876_5432n

export function grant({ timeoutMs = 30_000, sessionId = SESSION_ID, readOnly = false }: GrantOptions = {}): Buffer {
  return new JuteWriter().int(0).int(timeoutMs).long(sessionId).buffer(Buffer.from(PASSWORD)).bool(readOnly).take()
}

interface AnswerOptions {
  readonly errno?: number
  readonly zxid?: bigint
  readonly body?: (writer: JuteWriter) => JuteWriter
}

export function answer(xid: number, { errno = 0, zxid = 1n, body }: AnswerOptions = {}): Buffer {
  const writer = new JuteWriter().int(xid).long(zxid).int(errno)
  return (body === undefined ? writer : body(writer)).take()
}

export function event(type: number, path: string): Buffer {
  return answer(-1, { zxid: -1n, body: (writer) => writer.int(type).int(3).ustring(path) })
}

export function stat(writer: JuteWriter, czxid: bigint = 2n ** 60n + 1n): JuteWriter {
  return writer.long(czxid).long(2n).long(3n).long(4n).int(5).int(6).int(7).long(8n).int(9).int(10).long(11n)
}
