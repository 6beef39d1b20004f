/**
 * One socket, from its opening to its end. The commands written to it are known to it alone: a reply that comes late,
 * after a time-out or a reconnect, has no other link's command to be mistaken for.
 */
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { Deadline } from '../../stores/shared/deadline.ts'
import { ConnectionLostError, ProtocolError, ReplyError } from './errors.ts'
import type { LossReason } from './errors.ts'
import { encode } from './encode.ts'
import { shakeHands } from './handshake.ts'
import type { ResolvedOptions } from './options.ts'
import { Parser } from './parser.ts'
import type { Pending } from './pending.ts'
import type { Reply } from './reply.ts'

/** Who a link reports to. */
export interface LinkOwner {
  onReady(link: Link): void
  /** The link is gone, and everything written to it is rejected already. */
  onDrop(link: Link, error: Error): void
  onMessage(channel: string, message: string): void
  /** The socket takes bytes again. */
  onDrain(): void
  /** Every command written has its reply. */
  onIdle(): void
}

const MAX_DEPTH = 64
/** Commands are joined up to about this size: V8 refuses a string of half a gigabyte. */
const MAX_WRITE_BYTES = 1_048_576
const READ_BYTES = 65_536
/** First keep-alive probe after this long without traffic. */
const KEEP_ALIVE_MS = 10_000
/** How much may wait inside the socket before commands are held back, where they still count as unsent. */
const WRITE_AHEAD_BYTES = 1_048_576

export class Link {
  readonly #options: ResolvedOptions
  readonly #owner: LinkOwner
  readonly #socket: Socket
  readonly #parser: Parser
  readonly #patience: Deadline
  readonly #written = new Fifo<Pending>()
  readonly #closed: Promise<void>
  #state: 'opening' | 'ready' | 'dropped' = 'opening'
  #blocked = false
  #bytes = 0
  #burst = 0
  #protocol: 2 | 3 = 2
  #readyAt = Number.POSITIVE_INFINITY

  constructor(options: ResolvedOptions, owner: LinkOwner) {
    this.#options = options
    this.#owner = owner
    this.#parser = new Parser(
      {
        wantsBuffers: () => this.#written.peek()?.buffers ?? false,
        onReply: (reply) => this.#onReply(reply),
        onPush: (items) => this.#onPush(items),
      },
      { maxReplyBytes: options.maxReplyBytes, maxDepth: MAX_DEPTH },
    )
    this.#socket = openSocket(
      options,
      () => this.#greet(),
      (bytes) => this.#read(bytes),
    )
    this.#socket.on('error', (error) => this.drop(error))
    this.#socket.on('end', () => this.drop(new Error('the server closed the connection')))
    this.#socket.on('drain', () => {
      this.#blocked = false
      owner.onDrain()
    })
    this.#closed = new Promise((resolve) => {
      this.#socket.once('close', () => {
        this.drop(new Error('the socket was closed'))
        resolve()
      })
    })
    const patience = options.connectTimeoutMs
    this.#patience = new Deadline(() => this.drop(new Error(`no connection after ${patience} ms`)))
    this.#patience.keepAlive(options.ref)
    this.#patience.set(performance.now() + patience)
    // A connection that nobody waits for lets the process end; who waits for it has the deadline of the command.
    if (!options.ref) this.#socket.unref()
  }

  get ready(): boolean {
    return this.#state === 'ready'
  }

  get protocol(): 2 | 3 {
    return this.#protocol
  }

  /** When the handshake was done, on the clock of performance.now(); Infinity before. */
  get readyAt(): number {
    return this.#readyAt
  }

  get idle(): boolean {
    return this.#written.size === 0
  }

  /** The bytes that were written between the last two times that the link was idle. */
  get burst(): number {
    return this.#burst
  }

  /** Writes what waits, as few writes as possible, as long as the socket takes it. */
  send(waiting: Fifo<Pending>): void {
    if (this.#state !== 'ready') return
    const now = performance.now()
    while (waiting.size > 0 && !this.#blocked) {
      let text = ''
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        if (next.deadline <= now) next.reject(this.#lost('timeout', false))
        else if (next.text === '') next.resolve(null)
        else {
          text += next.text
          next.text = ''
          this.#written.push(next)
          if (text.length >= MAX_WRITE_BYTES) break
        }
      }
      if (text === '') continue
      this.#bytes += text.length
      this.#blocked = !this.#socket.write(text, 'latin1')
    }
  }

  /** The earliest deadline among the commands written, or Infinity. */
  earliest(): number {
    let earliest = Number.POSITIVE_INFINITY
    for (const { deadline } of this.#written) if (deadline < earliest) earliest = deadline
    return earliest
  }

  /** A command without its reply in time ends the link: from here on nobody knows which reply is whose. */
  expire(now: number): void {
    let overdue = 0
    for (const pending of this.#written) {
      if (pending.deadline > now) continue
      overdue++
      pending.reject(this.#lost('timeout', true))
    }
    if (overdue > 0) this.drop(new Error(`${overdue} of ${this.#written.size} commands had no reply in time`))
  }

  /** Ends the link, once; what was written and has no reply is rejected as sent. */
  drop(error: Error, reason: LossReason = 'dropped'): void {
    if (this.#state === 'dropped') return
    this.#state = 'dropped'
    this.#patience.clear()
    this.#socket.destroy()
    const lost = this.#written.drain()
    // The reply that could not be read is this one's: asking again would only bring it again.
    if (error instanceof ProtocolError) lost.shift()?.reject(error)
    for (const pending of lost) pending.reject(this.#lost(reason, true, error))
    this.#owner.onDrop(this, error)
  }

  /** Resolves when the socket is gone. */
  whenClosed(): Promise<void> {
    return this.#closed
  }

  #greet(): void {
    const ask = (args: Parameters<typeof encode>[0]): Promise<Reply> =>
      new Promise((resolve, reject) => {
        const deadline = Number.POSITIVE_INFINITY
        this.#written.push({ text: '', buffers: false, deadline, channel: null, resolve, reject })
        this.#socket.write(encode(args), 'latin1')
      })
    this.#becomeReady(shakeHands(ask, this.#options)).catch((error: Error) => this.drop(error))
  }

  async #becomeReady(handshake: Promise<2 | 3>): Promise<void> {
    const protocol = await handshake
    if (this.#state !== 'opening') return
    this.#patience.clear()
    this.#protocol = protocol
    this.#state = 'ready'
    this.#readyAt = performance.now()
    this.#owner.onReady(this)
  }

  #read(bytes: Buffer): void {
    if (this.#state === 'dropped') return
    try {
      this.#parser.feed(bytes)
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      this.drop(error)
    }
    if (this.#written.size > 0) return
    this.#burst = this.#bytes
    this.#bytes = 0
    this.#owner.onIdle()
  }

  #onReply(reply: Reply): void {
    if (this.#state === 'dropped') return
    const pending = this.#written.peek()
    // In RESP2 messages are arrays among the replies; a connection that gets them runs nothing but SUBSCRIBE.
    if (pending === undefined || pending.channel !== null) {
      if (Array.isArray(reply) && this.#protocol === 2) {
        this.#onPush(reply)
        return
      }
      if (pending === undefined) throw new ProtocolError('Redis sent a reply that no command asked for')
    }
    this.#written.shift()
    if (reply instanceof ReplyError) pending.reject(reply)
    else pending.resolve(reply)
  }

  #onPush(items: readonly Reply[]): void {
    if (this.#state === 'dropped') return
    const [kind, channel, message] = items
    if (kind === 'message') {
      if (typeof channel !== 'string' || typeof message !== 'string') {
        throw new ProtocolError('Redis sent a message whose channel or text is no text')
      }
      this.#owner.onMessage(channel, message)
    } else if (kind === 'subscribe' || kind === 'unsubscribe') {
      // The confirmation stands where the reply would: before it, every earlier command was answered.
      const pending = this.#written.peek()
      if (pending?.channel !== channel) throw new ProtocolError(`Redis confirmed a ${kind} that was not asked for`)
      this.#written.shift()
      pending?.resolve(null)
    }
    // Other kinds (invalidate, pmessage, …) answer commands that this connection never sends.
  }

  #lost(reason: LossReason, sent: boolean, cause?: Error): ConnectionLostError {
    const { host, port } = this.#options
    const what = reason === 'timeout' ? 'gave no reply in time' : `is gone (${cause?.message ?? reason})`
    const fate = sent ? 'the command was sent, and whether it took effect is not known' : 'the command was not sent'
    return new ConnectionLostError(`Redis at ${host}:${port} ${what}: ${fate}`, { sent, reason, cause })
  }
}

/**
 * TCP or TLS, keep-alive on, Nagle off. `onBytes` must be done with the bytes when it returns: the buffer is used
 * again.
 */
function openSocket(options: ResolvedOptions, onOpen: () => void, onBytes: (bytes: Buffer) => void): Socket {
  const target = {
    host: options.host,
    port: options.port,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_MS,
    writableHighWaterMark: WRITE_AHEAD_BYTES,
  }
  if (options.tls !== false) {
    const socket = connectTls({ ...target, ...(options.tls === true ? {} : options.tls) })
    // node:tls passes neither on to the socket it makes.
    socket.setNoDelay(true)
    socket.setKeepAlive(true, KEEP_ALIVE_MS)
    socket.once('secureConnect', onOpen)
    socket.on('data', onBytes)
    return socket
  }
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES)
  const onread = {
    buffer,
    callback: (length: number): boolean => {
      onBytes(buffer.subarray(0, length))
      return true
    },
  }
  const socket = connectTcp({ ...target, onread })
  socket.once('connect', onOpen)
  return socket
}

/** A first-in, first-out queue on a ring: an array's shift() moves every element once 50 000 commands are in flight. */
export class Fifo<T> {
  #ring: (T | undefined)[] = emptyRing<T>(64)
  #mask = 63
  #head = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  push(item: T): void {
    if (this.#size > this.#mask) this.#grow()
    this.#ring[(this.#head + this.#size) & this.#mask] = item
    this.#size++
  }

  peek(): T | undefined {
    return this.#ring[this.#head]
  }

  shift(): T | undefined {
    if (this.#size === 0) return undefined
    const item = this.#ring[this.#head]
    this.#ring[this.#head] = undefined
    this.#head = (this.#head + 1) & this.#mask
    this.#size--
    return item
  }

  /** Empties the queue and gives what was in it, oldest first. */
  drain(): T[] {
    const items = [...this]
    this.#ring = emptyRing<T>(64)
    this.#mask = 63
    this.#head = 0
    this.#size = 0
    return items
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (let index = 0; index < this.#size; index++) yield this.#ring[(this.#head + index) & this.#mask] as T
  }

  #grow(): void {
    const length = this.#ring.length * 2
    const ring = emptyRing<T>(length)
    let index = 0
    for (const item of this) ring[index++] = item
    this.#ring = ring
    this.#mask = length - 1
    this.#head = 0
  }
}

/** Filled, not only sized: V8 then keeps it as a plain array without holes. */
function emptyRing<T>(length: number): (T | undefined)[] {
  return Array.from({ length }, () => undefined)
}
