/**
 * Channels over a client's own connection that listens. It is given up at the first trouble and another is made, since
 * clients differ in what they do then: one forgets a channel that was refused once, one stops when its user's strategy
 * says so.
 */
import { diagnostics } from '../../contract/events.ts'
import { StoreUnreachableError } from '../../contract/errors.ts'
import { type CommandDeadlines, within } from './deadline.ts'
import { backoffMs } from '../shared/backoff.ts'

/** One connection that listens. */
export interface SubscriberConnection {
  subscribe(channel: string): Promise<unknown>
  unsubscribe(channel: string): Promise<unknown>
  /** Ends it, at once; never throws. */
  end(): void
}

/** What a connection tells its owner. */
export interface SubscriberEvents {
  onMessage(channel: string, message: string): void
  /** It hears nothing any more. May come twice. */
  onEnd(connection: SubscriberConnection): void
}

/** What is told to those who listen, and how long they wait. */
export interface SubscriberOptions {
  readonly where: string
  readonly connectTimeoutMs: number
  readonly deadlines: CommandDeadlines
  /** Opens a connection. Resolves when it can subscribe. */
  readonly open: (owner: SubscriberEvents) => Promise<SubscriberConnection>
  /** All channels are confirmed again; messages in between are lost. */
  readonly onGap: () => void
}

const AGAIN = { backoffMinMs: 50, backoffMaxMs: 2_000 }

export class Subscriber implements SubscriberEvents {
  readonly #options: SubscriberOptions
  readonly #channels = new Map<string, (message: string) => void>()
  readonly #ended = new WeakSet<SubscriberConnection>()
  #opening: Promise<SubscriberConnection> | null = null
  #connection: SubscriberConnection | null = null
  #again: NodeJS.Timeout | null = null
  #failures = 0
  #closed = false

  constructor(options: SubscriberOptions) {
    this.#options = options
  }

  /** Resolves when the server has confirmed; from then on it lasts over reconnects. */
  async subscribe(channel: string, onMessage: (message: string) => void): Promise<void> {
    this.#channels.set(channel, onMessage)
    try {
      const connection = await this.#opened()
      await this.#options.deadlines.limit(connection.subscribe(channel))
    } catch (error) {
      this.#channels.delete(channel)
      throw error
    }
  }

  async unsubscribe(channel: string): Promise<void> {
    this.#channels.delete(channel)
    if (this.#connection !== null) await this.#options.deadlines.limit(this.#connection.unsubscribe(channel))
  }

  close(): void {
    this.#closed = true
    this.#channels.clear()
    if (this.#again !== null) clearTimeout(this.#again)
    this.#connection?.end()
  }

  onMessage(channel: string, message: string): void {
    this.#channels.get(channel)?.(message)
  }

  onEnd(connection: SubscriberConnection): void {
    this.#ended.add(connection)
    if (this.#connection !== connection) return
    this.#connection = null
    this.#opening = null
    connection.end()
    this.#restoreLater()
  }

  #opened(): Promise<SubscriberConnection> {
    this.#opening ??= this.#open()
    return this.#opening
  }

  async #open(): Promise<SubscriberConnection> {
    const { open, connectTimeoutMs, where } = this.#options
    const opening = open(this)
    try {
      const connection = await within(opening, connectTimeoutMs, where)
      if (this.#ended.has(connection))
        throw new StoreUnreachableError(`Redis at ${where} closed the connection that listens`)
      if (this.#closed) connection.end()
      this.#connection = connection
      return connection
    } catch (error) {
      this.#opening = null
      // It may still come, when nobody wants it any more.
      opening.then(
        (connection) => connection.end(),
        () => undefined,
      )
      throw error
    }
  }

  /** Not while it is planned already, nor for nobody. */
  #restoreLater(): void {
    if (this.#closed || this.#again !== null || this.#channels.size === 0) return
    this.#again = setTimeout(
      () => {
        this.#again = null
        void this.#restore()
      },
      backoffMs(this.#failures++, AGAIN, Math.random(), 0.5),
    )
    // A process that has nothing else to do may end.
    this.#again.unref()
  }

  /** Every channel by itself: what is refused to one is not refused to all. */
  async #restore(): Promise<void> {
    const refused: unknown[] = []
    try {
      const connection = await this.#opened()
      const { deadlines, onGap } = this.#options
      const ends = await Promise.allSettled(
        [...this.#channels.keys()].map((channel) => deadlines.limit(connection.subscribe(channel))),
      )
      for (const end of ends) if (end.status === 'rejected') refused.push(end.reason)
      if (this.#closed) return
      if (refused.length < ends.length) onGap()
    } catch (error) {
      refused.push(error)
    }
    if (refused.length === 0) {
      this.#failures = 0
      return
    }
    // Until then its waiters are not told, and find out by their heartbeats.
    diagnostics.failed('', refused[0])
    this.#restoreLater()
  }
}
