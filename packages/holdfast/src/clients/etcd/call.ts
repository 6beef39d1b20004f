/** One gRPC call on one connection: messages out, messages in, and exactly one end. */
import {
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
  type OutgoingHttpHeaders,
} from 'node:http2'
import type { Connection } from './connection.ts'
import { EtcdError, EtcdProtocolError, EtcdUnreachableError } from './errors.ts'
import { FrameReader } from './frame.ts'
import { decodeStatusMessage, isRefusal, isUnreachable, Status, statusName, statusOfHttp } from './status.ts'

/** The headers that a call begins with. */
export interface RequestHeaders extends OutgoingHttpHeaders {
  readonly ':path': string
  /** How long the member may work on the call. */
  'grpc-timeout'?: string
  /** Names the user, if the cluster wants to know. */
  token?: string
  /** `true`: if the member has no leader, it ends the stream instead of letting it wait in silence. */
  hasleader?: 'true'
}

/** The headers of every call: one literal, to which the rest is added, because this runs once per call. */
export function requestHeaders(path: string): RequestHeaders {
  return { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' }
}

export interface CallObserver {
  onMessage(message: Buffer): void
  /** Called once; null if the server ended the call with status OK. */
  onEnd(error: Error | null): void
}

export class Call {
  readonly #connection: Connection
  readonly #path: string
  readonly #stream: ClientHttp2Stream
  readonly #observer: CallObserver
  readonly #frames: FrameReader = new FrameReader()
  readonly #onMessage: (message: Buffer) => void
  #status: number | undefined
  #statusText = ''
  #inputEnded = false
  #done = false
  #cause: unknown

  /** Throws an `EtcdUnreachableError` if the connection takes no more calls. */
  constructor(connection: Connection, headers: RequestHeaders, observer: CallObserver) {
    this.#connection = connection
    this.#path = headers[':path']
    this.#observer = observer
    this.#onMessage = (message) => {
      if (!this.#done) observer.onMessage(message)
    }
    this.#stream = connection.open(headers)
    this.#stream.on('response', (headers) => this.#onHeaders(headers))
    this.#stream.on('trailers', (headers) => this.#onTrailers(headers))
    this.#stream.on('data', (chunk: Buffer) => this.#onData(chunk))
    this.#stream.on('end', () => this.#onInputEnd())
    this.#stream.on('error', (error) => {
      this.#cause = error
    })
    this.#stream.on('close', () => this.#onClose())
  }

  get done(): boolean {
    return this.#done
  }

  /** Sends one framed message. */
  send(framed: Buffer): void {
    if (!this.#done) this.#stream.write(framed)
  }

  /** Sends one framed message, the last. */
  sendLast(framed: Buffer): void {
    if (!this.#done) this.#stream.end(framed)
  }

  /** Ends the call from this side; the observer gets `error`, and nothing after it. */
  cancel(error: Error | null): void {
    if (this.#done) return
    this.#end(error)
    this.#stream.close(constants.NGHTTP2_CANCEL)
  }

  #onHeaders(headers: IncomingHttpHeaders & IncomingHttpStatusHeader): void {
    this.#connection.heard()
    const http = headers[':status'] ?? 0
    if (headers['grpc-status'] !== undefined) this.#onTrailers(headers)
    else if (http !== 200 || !headers['content-type']?.startsWith('application/grpc')) {
      const status = http === 200 ? Status.UNKNOWN : statusOfHttp(http)
      this.cancel(this.#failure(status, `HTTP status ${http}, content type ${headers['content-type'] ?? 'none'}`))
    }
  }

  #onTrailers(headers: IncomingHttpHeaders): void {
    this.#connection.heard()
    const status = Number(headers['grpc-status'] ?? Number.NaN)
    this.#status = Number.isInteger(status) ? status : Status.UNKNOWN
    const text = headers['grpc-message']
    this.#statusText = typeof text === 'string' ? decodeStatusMessage(text) : ''
    this.#settle()
  }

  #onData(chunk: Buffer): void {
    this.#connection.heard()
    try {
      this.#frames.push(chunk, this.#onMessage)
    } catch (error) {
      if (!(error instanceof EtcdProtocolError)) throw error
      this.cancel(error)
    }
  }

  #onInputEnd(): void {
    this.#inputEnded = true
    this.#settle()
    // Ended without a status: nothing more will come, and a stream that we haven't ended ourselves would stay for ever.
    if (!this.#done) this.#stream.close(constants.NGHTTP2_CANCEL)
  }

  /** The end is known once both the status and the last byte have come; the two events come in either order. */
  #settle(): void {
    if (this.#done || this.#status === undefined || !this.#inputEnded) return
    if (this.#status !== Status.OK) this.#end(this.#failure(this.#status, this.#statusText))
    else if (this.#frames.pending > 0) {
      this.#end(new EtcdProtocolError(`${this.#where()}: the reply ended inside a message`))
    } else this.#end(null)
    // A server that ends a stream early waits for nobody; neither do we.
    if (!this.#stream.writableEnded) this.#stream.close(constants.NGHTTP2_NO_ERROR)
  }

  #onClose(): void {
    this.#connection.release()
    if (this.#done) return
    const { id, rstCode } = this.#stream
    const refused = id === undefined || rstCode === constants.NGHTTP2_REFUSED_STREAM || this.#connection.ignores(id)
    this.#end(
      new EtcdUnreachableError(`${this.#where()}: the connection was lost before the answer (HTTP/2 code ${rstCode})`, {
        status: Status.UNAVAILABLE,
        mayHaveApplied: !refused,
        cause: this.#connection.loss ?? this.#cause,
      }),
    )
  }

  #failure(status: number, text: string): Error {
    const Class = isUnreachable(status, text) ? EtcdUnreachableError : EtcdError
    const message = `${this.#where()}: ${text || 'no reason given'} (${statusName(status)})`
    return new Class(message, { status, mayHaveApplied: !isRefusal(status) })
  }

  #where(): string {
    return `etcd ${this.#connection.endpoint.origin}${this.#path}`
  }

  #end(error: Error | null): void {
    this.#done = true
    this.#observer.onEnd(error)
  }
}
