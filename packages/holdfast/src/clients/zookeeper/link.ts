/** One connection to one server: bytes out, frames in, one end. After the end it reports nothing more. */
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { StoreError } from '../../contract/errors.ts'
import { Deadline } from '../../stores/shared/deadline.ts'
import { FrameReader } from './frames.ts'
import { MalformedReplyError } from './jute.ts'
import { type ServerAddress, describeAddress } from './servers.ts'

export interface LinkOptions {
  readonly tls: ConnectionOptions | null
  readonly maxFrameBytes: number
  /** How long connecting and the handshake may take together. */
  readonly attemptMs: number
  readonly ref: boolean
}

export interface LinkEvents {
  open(): void
  frame(frame: Buffer): void
  end(cause: Error): void
}

export class Link {
  readonly server: string
  readonly #socket: Socket
  readonly #events: LinkEvents
  readonly #attempt: Deadline
  #ended = false

  constructor(address: ServerAddress, options: LinkOptions, events: LinkEvents) {
    this.server = describeAddress(address)
    this.#events = events
    const frames = new FrameReader(options.maxFrameBytes)
    const onFrame = (frame: Buffer): boolean => {
      this.#events.frame(frame)
      return !this.#ended
    }
    const socket = options.tls === null ? connectTcp(address) : connectTls(tlsOptions(address, options.tls))
    this.#socket = socket
    socket.setNoDelay(true)
    if (!options.ref) socket.unref()
    socket.once(options.tls === null ? 'connect' : 'secureConnect', () => {
      if (!this.#ended) events.open()
    })
    socket.on('data', (chunk: Buffer) => {
      if (!this.#ended) this.#receive(frames, chunk, onFrame)
    })
    // The listener stays for the socket's whole life: a late ECONNRESET after `end` must not be an uncaught error. If a
    // name has several addresses, the error is an AggregateError with an empty message.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.end(this.#failure(error.message || (error.code ?? error.name), error))
    })
    socket.once('close', () => this.end(this.#failure('the server closed the connection')))
    this.#attempt = new Deadline(() => this.end(this.#failure(`no session within ${Math.round(options.attemptMs)} ms`)))
    this.#attempt.set(performance.now() + options.attemptMs)
  }

  /** The handshake is done: from here on the owner judges silence. */
  established(): void {
    this.#attempt.clear()
  }

  write(bytes: Uint8Array): void {
    this.#socket.write(bytes)
  }

  /** Ends the link and tells its owner why. */
  end(cause: Error): void {
    if (this.#ended) return
    this.drop()
    this.#events.end(cause)
  }

  /** Ends the link without telling. */
  drop(): void {
    this.#ended = true
    this.#attempt.clear()
    this.#socket.destroy()
  }

  #receive(frames: FrameReader, chunk: Buffer, onFrame: (frame: Buffer) => boolean): void {
    try {
      frames.push(chunk, onFrame)
    } catch (error) {
      if (!(error instanceof MalformedReplyError)) throw error
      this.end(error)
    }
  }

  #failure(why: string, cause?: Error): StoreError {
    return new StoreError(`${this.server}: ${why}`, { cause })
  }
}

function tlsOptions(address: ServerAddress, tls: ConnectionOptions): ConnectionOptions {
  // A name goes into the handshake, an address must not (RFC 6066); the certificate is checked against either.
  return { ...(isIP(address.host) === 0 ? { servername: address.host } : {}), ...tls, ...address }
}
