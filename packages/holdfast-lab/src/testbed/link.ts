/** One client connection through the fault proxy, with the upstream connection that belongs to it. */
import { connect, type Socket } from 'node:net'
import { type Flow, type Parcel, Pipe } from './pipe.ts'

/** The faults in force, resolved: one flow and one delay per direction. */
export interface LinkFaults {
  readonly toServer: Flow
  readonly toClient: Flow
  readonly toServerDelayMs: number
  readonly toClientDelayMs: number
}

/**
 * Called for each chunk just before it is forwarded: returns how many of its bytes may pass, and what becomes of the
 * link.
 */
export interface Verdict {
  readonly bytes: number
  readonly act: 'go on' | 'cut' | 'lose the reply'
}

export interface LinkEvents {
  /** What the client gets for these bytes of the server. */
  readonly translate: (bytes: Buffer) => Buffer
  readonly judge: (way: 'toServer' | 'toClient', bytes: Buffer) => Verdict
  readonly forwarded: (way: 'toServer' | 'toClient', bytes: number) => void
  /**
   * The reply was lost as ordered: the request has reached the server, its answer was discarded, the client was cut
   * off.
   */
  readonly replyLost: () => void
  readonly closed: (link: Link) => void
}

export class Link {
  readonly #client: Socket
  readonly #upstream: { readonly host: string; readonly port: number }
  readonly #events: LinkEvents
  readonly #toServer: Pipe
  readonly #toClient: Pipe
  #server: Socket | undefined
  #swallowing = false
  #closed = false

  constructor(
    client: Socket,
    upstream: { readonly host: string; readonly port: number },
    faults: LinkFaults,
    events: LinkEvents,
  ) {
    this.#client = client
    this.#upstream = upstream
    this.#events = events
    this.#toServer = new Pipe(faults.toServer, faults.toServerDelayMs, {
      deliver: (parcel) => this.#deliver('toServer', parcel),
      pressure: (high) => void (high ? client.pause() : client.resume()),
    })
    this.#toClient = new Pipe(faults.toClient, faults.toClientDelayMs, {
      deliver: (parcel) => this.#deliver('toClient', parcel),
      pressure: (high) => void (high ? this.#server?.pause() : this.#server?.resume()),
    })
    client.setNoDelay(true)
    client.on('data', (bytes) => this.#toServer.push({ kind: 'bytes', bytes: bytes as Buffer }))
    client.on('end', () => this.#toServer.push({ kind: 'end' }))
    client.on('drain', () => this.#toClient.unblock())
    client.on('error', () => this.#toServer.push({ kind: 'reset' }))
    client.on('close', () => this.#settle())
    this.#toServer.push({ kind: 'open' })
  }

  get heldBytes(): number {
    return this.#toServer.heldBytes + this.#toClient.heldBytes
  }

  get droppedBytes(): number {
    return this.#toServer.droppedBytes + this.#toClient.droppedBytes
  }

  /** Applies other faults. A direction that has lost bytes can't continue: its link is reset instead. */
  set(faults: LinkFaults): void {
    const torn =
      (this.#toServer.torn && faults.toServer !== 'drop') || (this.#toClient.torn && faults.toClient !== 'drop')
    if (torn) {
      this.reset()
      return
    }
    this.#toServer.set(faults.toServer, faults.toServerDelayMs)
    this.#toClient.set(faults.toClient, faults.toClientDelayMs)
  }

  /** Both ends get a TCP reset now, whatever faults are in force. */
  reset(): void {
    tear(this.#client)
    if (this.#server !== undefined) tear(this.#server)
    this.#settle()
  }

  #deliver(way: 'toServer' | 'toClient', parcel: Parcel): boolean {
    if (parcel.kind === 'open') {
      this.#open()
      return true
    }
    const target = way === 'toServer' ? this.#server : this.#client
    if (target === undefined || target.destroyed) return true
    if (parcel.kind === 'bytes') return this.#forward(way, target, parcel.bytes)
    if (parcel.kind === 'end') target.end()
    else this.reset()
    return true
  }

  #forward(way: 'toServer' | 'toClient', target: Socket, bytes: Buffer): boolean {
    if (target.writableEnded) return true
    const verdict = this.#events.judge(way, bytes)
    if (verdict.act === 'lose the reply') this.#swallowing = true
    const allowed = verdict.bytes < bytes.length ? bytes.subarray(0, verdict.bytes) : bytes
    this.#events.forwarded(way, allowed.length)
    const roomy = target.write(allowed)
    if (verdict.act === 'cut') this.#cut(target)
    return roomy
  }

  /**
   * Ends `reached` in order, so that it gets all bytes written so far (a reset could overtake them), and resets the
   * other end.
   */
  #cut(reached: Socket): void {
    const other = reached === this.#client ? this.#server : this.#client
    if (other !== undefined) tear(other)
    reached.end()
    // Read and discard what the reached end still sends: unread bytes would turn our close into a reset.
    this.#swallowing = true
    this.#toServer.close()
    this.#toClient.close()
    reached.resume()
  }

  #open(): void {
    const server = connect({ ...this.#upstream, noDelay: true, allowHalfOpen: true })
    this.#server = server
    server.on('data', (bytes) => {
      if (!this.#swallowing) this.#toClient.push({ kind: 'bytes', bytes: this.#events.translate(bytes as Buffer) })
      else this.#loseReply(server)
    })
    server.on('end', () => {
      if (!this.#swallowing) this.#toClient.push({ kind: 'end' })
      else this.#loseReply(server)
    })
    server.on('drain', () => this.#toServer.unblock())
    server.on('error', () => this.#toClient.push({ kind: 'reset' }))
    server.on('close', () => this.#settle())
  }

  /** The server has answered (or hung up): now the request has certainly arrived, and the client may be cut off. */
  #loseReply(server: Socket): void {
    if (this.#client.destroyed) return
    this.#cut(server)
    this.#events.replyLost()
  }

  /** The link is over once neither end is open; an end that a black hole hides from the other may outlive it. */
  #settle(): void {
    const over = this.#client.destroyed && (this.#server === undefined || this.#server.destroyed)
    if (!over || this.#closed) return
    this.#closed = true
    this.#toServer.close()
    this.#toClient.close()
    this.#events.closed(this)
  }
}

/** A reset if there is a connection to reset; a socket that still connects is simply given up. */
function tear(socket: Socket): void {
  if (socket.destroyed) return
  if (socket.connecting) socket.destroy()
  else socket.resetAndDestroy()
}
