/** A scripted HTTP/2 peer: it sends what a test tells it to, byte by byte if need be, and knows nothing of etcd. */
import { once } from 'node:events'
import {
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { EtcdClient, type EtcdClientOptions } from '../../../src/clients/etcd/index.ts'
import type { Message } from '../../../src/clients/etcd/message.ts'

export type Script = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, call: number) => void

/** gRPC framing for one message. */
export function framed<T extends object>(message: Message<T>, value: Partial<T>): Buffer {
  const body = message.encode(value)
  const head = Buffer.alloc(5)
  head.writeUInt32BE(body.length, 1)
  return Buffer.concat([head, body])
}

/** Answers with these bytes, in the given pieces, and then this status. */
export function answer(stream: ServerHttp2Stream, pieces: readonly Buffer[], status = 0, text?: string): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
  stream.on('wantTrailers', () => {
    stream.sendTrailers({ 'grpc-status': String(status), ...(text === undefined ? {} : { 'grpc-message': text }) })
  })
  for (const piece of pieces) stream.write(piece)
  stream.end()
}

/** A status without a body, all in one block of headers. */
export function refuse(stream: ServerHttp2Stream, status: number, text: string): void {
  const headers = { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': String(status) }
  stream.respond({ ...headers, 'grpc-message': text }, { endStream: true })
}

export class Peer {
  readonly #server: Http2Server
  readonly sessions: ServerHttp2Session[] = []
  /** Called for every probe. */
  onProbe: () => void = () => {}
  /** Paths of the calls so far, probes left out. */
  readonly calls: string[] = []

  constructor(server: Http2Server) {
    this.#server = server
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  count(path: string): number {
    return this.calls.filter((call) => call.endsWith(path)).length
  }

  async close(): Promise<void> {
    for (const session of this.sessions) session.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

/** Starts a peer; probes are answered, all else is the script's. */
export async function startPeer(script: Script): Promise<Peer> {
  const server = createServer()
  const peer = new Peer(server)
  server.on('session', (session) => {
    session.on('error', () => {})
    peer.sessions.push(session)
  })
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {})
    const path = String(headers[':path'])
    if (path === '/grpc.health.v1.Health/Check') {
      peer.onProbe()
      return answer(stream, [Buffer.from([0, 0, 0, 0, 2, 8, 1])])
    }
    peer.calls.push(path)
    script(stream, headers, peer.calls.length)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => peer.close())
  return peer
}

/** A TCP listener that hands its sockets to the test. */
export async function startTcp(onSocket: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server: Server = createTcpServer((socket) => {
    socket.on('error', () => {})
    sockets.add(socket)
    onSocket(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** An address where nobody listens. */
export async function deadEndpoint(): Promise<string> {
  const server = createTcpServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return `http://127.0.0.1:${port}`
}

/** A client that starts with the first endpoint and is closed when the test is over. */
export function clientOf(endpoints: string | readonly string[], options: Partial<EtcdClientOptions> = {}): EtcdClient {
  const list = typeof endpoints === 'string' ? [endpoints] : endpoints
  const client = new EtcdClient({ random: () => 0, timeoutMs: 20_000, ...options, endpoints: list })
  onTestFinished(() => client.close())
  return client
}

export interface Deferred<T> {
  readonly promise: Promise<T>
  readonly resolve: (value: T) => void
}

/** A promise to be fulfilled from elsewhere. */
export function deferred<T>(): Deferred<T> {
  const parts: { resolve?: (value: T) => void } = {}
  const promise = new Promise<T>((resolve) => {
    parts.resolve = resolve
  })
  return { promise, resolve: (value) => parts.resolve?.(value) }
}

/** The error that a promise rejects with. */
export async function rejection(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise
  } catch (error) {
    return error as Error
  }
  throw new Error('fulfilled, but a rejection was expected')
}
