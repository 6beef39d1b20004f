/**
 * A connection to one Redis server that outlives its sockets: commands of one tick leave in one write, a broken link is
 * opened again, and a command that was written once is never written again.
 */
import { ClosedError, UnsupportedError } from '../../contract/errors.ts'
import { backoffMs } from '../../stores/shared/backoff.ts'
import { Deadline } from '../../stores/shared/deadline.ts'
import type { Argument } from './encode.ts'
import { encode, encodeHead, encodeScript } from './encode.ts'
import { ConnectionLostError, ReplyError } from './errors.ts'
import type { LossReason } from './errors.ts'
import { guarded } from './guarded.ts'
import { isLasting } from './handshake.ts'
import { Fifo, Link } from './link.ts'
import type { ConnectionOptions, ResolvedOptions } from './options.ts'
import { resolveOptions, timeoutMs } from './options.ts'
import type { Pending } from './pending.ts'
import type { Reply } from './reply.ts'
import type { Script } from './script.ts'
import { Subscriptions } from './subscriptions.ts'

export interface CommandOptions {
  /**
   * The connection's `commandTimeoutMs`; 1 to 2^31 - 1. Past it the connection is torn down if the command was sent.
   */
  readonly timeoutMs?: number
  /** false; true gives text in the reply as Buffers. */
  readonly buffers?: boolean
}

type Resolve = Pending['resolve']
type Reject = Pending['reject']

/**
 * So much is written before its turn ends, if the server has nothing to do: it works while the rest is made. Not where
 * more comes at once than the server reads at once (16 kB): there the two overlap anyway, and writes are only more.
 */
const EARLY_BYTES = 1_000
const EARLY_BURST_BYTES = 16_384
const NO_OPTIONS: CommandOptions = Object.freeze({})

export class Connection {
  readonly #options: ResolvedOptions
  readonly #waiting = new Fifo<Pending>()
  readonly #subscriptions: Subscriptions
  /** One for all commands: what is answered in time costs a comparison and no timer. */
  readonly #deadline: Deadline
  readonly #flush: () => void
  #flushing = false
  /** Given since the last write; of interest only while a link is ready. */
  #waitingBytes = 0
  #link: Link | null = null
  #retry: NodeJS.Timeout | null = null
  #failures = 0
  #lastError: Error | undefined
  #closed = false
  #closing: Promise<void> = Promise.resolve()

  /** Nothing is opened before connect() or the first command. Throws a UsageError on options out of range. */
  constructor(options: ConnectionOptions = {}) {
    this.#options = resolveOptions(options)
    this.#subscriptions = new Subscriptions()
    this.#deadline = new Deadline(() => {
      this.#expire(performance.now())
      this.#deadline.set(this.#earliest())
    })
    this.#flush = () => {
      this.#flushing = false
      if (this.#link !== null) this.#send(this.#link)
      this.#restIfIdle()
    }
  }

  /** Whether a command given now would be written at once. */
  get ready(): boolean {
    return this.#link?.ready ?? false
  }

  /** The protocol of the current link, or null while there is none. */
  get protocol(): 2 | 3 | null {
    return this.#link?.ready ? this.#link.protocol : null
  }

  /** Resolves when the handshake is done. Rejects at once when the server refuses it, else after `connectTimeoutMs`. */
  connect(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#give('', { timeoutMs: this.#options.connectTimeoutMs }, null, () => resolve(), reject)
    })
  }

  /** Sends one command. Rejects with a ReplyError, a ConnectionLostError (see its `sent`), or a UsageError. */
  command(args: readonly Argument[], options: CommandOptions = NO_OPTIONS): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#give(encode(args), options, null, resolve, reject)
    })
  }

  /**
   * Runs a script by its name; a server that does not know it yet gets its text. The time-out is for each of the two.
   */
  run(
    script: Script,
    keys: readonly Argument[],
    args: readonly Argument[],
    options: CommandOptions = NO_OPTIONS,
  ): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const onError = (error: Error): void => {
        // NOSCRIPT is said before anything ran, so this is the one command that may be given again.
        if (error instanceof ReplyError && error.kind === 'NOSCRIPT')
          this.#give(encodeScript(encodeHead(script.lua), keys, args), options, null, resolve, reject)
        else reject(error)
      }
      this.#give(encodeScript(script.head, keys, args), options, null, resolve, onError)
    })
  }

  /** Resolves when the server has confirmed. Lasts over reconnects, see `onResubscribed`. One listener per channel. */
  subscribe(channel: string, onMessage: (message: string) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const subscription = this.#subscriptions.add(channel, onMessage)
      const onConfirmed = (): void => {
        subscription.confirmed = true
        resolve()
      }
      const onError = (error: Error): void => {
        this.#subscriptions.remove(channel, subscription)
        reject(error)
      }
      this.#give(encode(['SUBSCRIBE', channel]), NO_OPTIONS, channel, onConfirmed, onError)
    })
  }

  /** After this call the listener hears nothing; resolves when the server knows. A channel without listener is fine. */
  unsubscribe(channel: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const subscription = this.#subscriptions.remove(channel)
      // Without a link there is nothing to end, except a SUBSCRIBE that still waits to be sent.
      if (subscription === null || (subscription.confirmed && !this.ready)) {
        resolve()
        return
      }
      // A subscription ends with its link.
      const onError = (error: Error): void => (error instanceof ConnectionLostError ? resolve() : reject(error))
      this.#give(encode(['UNSUBSCRIBE', channel]), NO_OPTIONS, channel, () => resolve(), onError)
    })
  }

  /** Ends the current link, if there is one, and opens another: the server is not the right one any more. */
  reconnect(why: string): void {
    if (this.#link?.ready) this.#link.drop(new Error(why))
  }

  /** Ends at once, for good: what was sent and what was not is rejected as such. Resolves when the socket is gone. */
  close(): Promise<void> {
    if (this.#closed) return this.#closing
    this.#closed = true
    if (this.#retry !== null) clearTimeout(this.#retry)
    this.#retry = null
    const link = this.#link
    if (link !== null) this.#closing = link.whenClosed()
    link?.drop(new Error('closed by its owner'), 'closed')
    for (const pending of this.#waiting.drain()) pending.reject(this.#unsent('closed'))
    this.#deadline.clear()
    return this.#closing
  }

  #give(text: string, options: CommandOptions, channel: string | null, resolve: Resolve, reject: Reject): void {
    const patience = options.timeoutMs === undefined ? this.#options.commandTimeoutMs : timeoutMs(options.timeoutMs)
    const deadline = performance.now() + patience
    const refusal = this.#refusal(text !== '' && channel === null)
    if (refusal !== null) {
      reject(refusal)
      return
    }
    this.#waiting.push({ text, buffers: options.buffers === true, deadline, channel, resolve, reject })
    this.#waitingBytes += text.length
    this.#cover(deadline)
    if (this.#link !== null) {
      if (this.#waitingBytes >= EARLY_BYTES && this.#link.idle && this.#link.burst <= EARLY_BURST_BYTES) {
        this.#send(this.#link)
      }
      if (this.#flushing) return
      // After the current callback and all promise reactions it caused: whatever they send joins the same write.
      this.#flushing = true
      process.nextTick(this.#flush)
    } else if (this.#retry === null) this.#open()
  }

  /** Why a command can't even be queued, or null. SUBSCRIBE, UNSUBSCRIBE and connect() are not `ordinary`. */
  #refusal(ordinary: boolean): Error | null {
    if (this.#closed) return new ClosedError(`the connection to Redis at ${this.#where()} was closed`)
    const link = this.#link
    if (link !== null && link.ready) {
      if (link.protocol === 3 || !ordinary || this.#subscriptions.size === 0) return null
      return new UnsupportedError(
        `Redis at ${this.#where()} speaks RESP2, where a connection with a subscription runs no commands: use a ` +
          `second one`,
      )
    }
    if (this.#retry !== null) {
      // A wrong password is as wrong for this command as for the last one, until an attempt says otherwise.
      if (isLasting(this.#lastError)) return this.#lastError
      if (this.#options.offline === 'fail') return this.#unsent('unreachable')
    }
    return this.#waiting.size >= this.#options.queueLimit ? this.#unsent('full') : null
  }

  #open(): void {
    this.#link = new Link(this.#options, {
      onReady: (link) => this.#onReady(link),
      onDrop: (link, error) => this.#onDrop(link, error),
      onMessage: (channel, message) => this.#subscriptions.deliver(channel, message),
      onDrain: this.#flush,
      onIdle: () => this.#restIfIdle(),
    })
  }

  #onReady(link: Link): void {
    this.#resubscribe(link, [...this.#subscriptions.confirmed()])
    this.#send(link)
    this.#restIfIdle()
    tell(this.#options.events.onReady)
  }

  #send(link: Link): void {
    this.#waitingBytes = 0
    link.send(this.#waiting)
  }

  /**
   * Before any waiting command, so that none of them can cause a message that nobody hears. What the server refuses is
   * asked for again later, on the same link: commands do not suffer for it, and whoever waits for messages has them
   * once it is allowed.
   */
  #resubscribe(link: Link, channels: readonly string[]): void {
    const again = new Fifo<Pending>()
    const deadline = performance.now() + this.#options.commandTimeoutMs
    const refused: string[] = []
    let missing = channels.length
    const answered = (): void => {
      if (--missing > 0) return
      if (refused.length < channels.length) tell(this.#options.events.onResubscribed)
      if (refused.length > 0) this.#resubscribeLater(link, refused)
    }
    for (const channel of channels) {
      const reject = (error: Error): void => {
        // Anything else is the end of the link: the next one begins anew.
        if (!(error instanceof ReplyError)) return
        refused.push(channel)
        answered()
      }
      again.push({ text: encode(['SUBSCRIBE', channel]), buffers: false, deadline, channel, resolve: answered, reject })
    }
    if (missing === 0) return
    this.#cover(deadline)
    link.send(again)
  }

  #resubscribeLater(link: Link, refused: readonly string[]): void {
    const timer = setTimeout(() => {
      if (this.#link !== link || !link.ready) return
      const wanted = new Set(this.#subscriptions.confirmed())
      const channels = refused.filter((channel) => wanted.has(channel))
      this.#resubscribe(link, channels)
    }, this.#options.backoffMaxMs)
    timer.unref()
  }

  #onDrop(link: Link, error: Error): void {
    this.#link = null
    this.#lastError = error
    if (this.#closed) return
    const { offline, backoffMaxMs, ref } = this.#options
    // Only a link that stood for a while counts as a success: a server that accepts, greets and hangs up must not be
    // met at full speed for ever. One that refuses the password gets the longest delay at once.
    const now = performance.now()
    if (error instanceof ReplyError) this.#failures = 30
    else this.#failures = now - link.readyAt >= backoffMaxMs ? 0 : this.#failures + 1
    const delay = backoffMs(this.#failures, this.#options, Math.random(), 0.5)
    this.#retry = setTimeout(() => {
      this.#retry = null
      this.#open()
    }, delay)
    if (!ref) this.#retry.unref()
    if (isLasting(error)) this.#rejectWaiting(() => error)
    else if (offline === 'fail') this.#rejectWaiting(() => this.#unsent('unreachable'))
    this.#restIfIdle()
    const { onDown } = this.#options.events
    if (onDown !== undefined) tell(() => onDown(error))
  }

  #rejectWaiting(error: () => Error): void {
    for (const pending of this.#waiting.drain()) pending.reject(error())
  }

  /** Until all is answered the process stays alive. */
  #cover(deadline: number): void {
    this.#deadline.keepAlive(true)
    this.#deadline.set(deadline)
  }

  #earliest(): number {
    let earliest = this.#link?.earliest() ?? Number.POSITIVE_INFINITY
    for (const { deadline } of this.#waiting) if (deadline < earliest) earliest = deadline
    return earliest
  }

  #expire(now: number): void {
    for (const pending of this.#waiting.drain()) {
      if (pending.deadline > now) this.#waiting.push(pending)
      else pending.reject(this.#unsent('unreachable'))
    }
    this.#link?.expire(now)
    this.#restIfIdle()
  }

  #restIfIdle(): void {
    if (this.#waiting.size === 0 && (this.#link === null || this.#link.idle)) this.#deadline.keepAlive(false)
  }

  #unsent(reason: LossReason): ConnectionLostError {
    const cause = reason === 'closed' ? undefined : this.#lastError
    const why = {
      closed: 'the connection was closed',
      full: `${this.#options.queueLimit} commands wait for a connection already`,
      unreachable: `no connection in time${cause === undefined ? '' : ` (${cause.message})`}`,
      dropped: 'the link broke',
      timeout: 'no reply in time',
    }[reason]
    return new ConnectionLostError(`Redis at ${this.#where()}: ${why}; the command was not sent`, {
      sent: false,
      reason,
      cause,
    })
  }

  #where(): string {
    return `${this.#options.host}:${this.#options.port}`
  }
}

function tell(callback: (() => void) | undefined): void {
  if (callback !== undefined) guarded(callback)
}
