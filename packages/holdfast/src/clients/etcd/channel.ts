/** The cluster as one thing to talk to: a current connection, and the search for another when it fails. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ClosedError } from '../../contract/errors.ts'
import { within } from '../../stores/shared/deadline.ts'
import { Backoff } from '../../stores/shared/backoff.ts'
import type { Connection } from './connection.ts'
import { dial } from './dial.ts'
import { EtcdUnreachableError } from './errors.ts'
import type { ResolvedOptions } from './options.ts'
import { Status } from './status.ts'

export class Channel {
  readonly #options: ResolvedOptions
  readonly #connections: Set<Connection> = new Set()
  readonly #backoff: Backoff
  readonly #closing: AbortController = new AbortController()
  #first: number
  #current: Connection | undefined
  #search: Promise<Connection> | undefined
  #waiting = 0
  #lastError: Error | undefined

  constructor(options: ResolvedOptions) {
    this.#options = options
    this.#backoff = new Backoff(options)
    // A random start spreads many clients over the members.
    this.#first = Math.floor(options.random() * options.endpoints.length)
  }

  /** The connection to use now, if there is one. */
  get ready(): Connection | undefined {
    const current = this.#current
    return current?.usable ? current : undefined
  }

  /** A usable connection; by `deadlineMs` at the latest an `EtcdUnreachableError` with the last reason. */
  async connection(deadlineMs: number, background = false): Promise<Connection> {
    this.#closing.signal.throwIfAborted()
    const ready = this.ready
    if (ready !== undefined) return ready
    this.#waiting++
    try {
      this.#search ??= this.#connect()
      return await within(this.#search, deadlineMs, () => this.nobody(), background)
    } finally {
      this.#waiting--
    }
  }

  /** This connection's member could not serve a call: the next call goes to another member, if there is one. */
  avoid(connection: Connection, broken: boolean): void {
    if (connection !== this.#current || (!broken && this.#options.endpoints.length === 1)) return
    this.#current = undefined
    this.#first = (this.#options.endpoints.indexOf(connection.endpoint) + 1) % this.#options.endpoints.length
    connection.retire()
  }

  /** Refuses callers that wait for a connection, now and later; what is on the wire goes on. */
  refuse(): void {
    this.#closing.abort(new ClosedError('etcd client: closed'))
  }

  /** Ends all connections. */
  close(): void {
    this.refuse()
    for (const connection of this.#connections) connection.destroy(new ClosedError('etcd client: closed'))
  }

  /** Why there is no connection: which members were tried, and the last error. */
  nobody(): EtcdUnreachableError {
    const all = this.#options.endpoints.map((endpoint) => endpoint.origin).join(', ')
    return new EtcdUnreachableError(
      `etcd: no connection to any of ${all}: ${this.#lastError?.message ?? 'no answer yet'}`,
      {
        status: Status.UNAVAILABLE,
        mayHaveApplied: false,
        cause: this.#lastError,
      },
    )
  }

  async #connect(): Promise<Connection> {
    const { signal } = this.#closing
    try {
      for (;;) {
        try {
          return this.#adopt(await dial(this.#order(), this.#options, signal))
        } catch (error) {
          if (!(error instanceof EtcdUnreachableError)) throw error
          this.#lastError = error
        }
        // Nobody waits any more: the next caller starts a new search.
        if (this.#waiting === 0) throw this.nobody()
        await sleep(this.#backoff.next(), undefined, { ref: false, signal })
      }
    } catch (error) {
      throw signal.aborted ? signal.reason : error
    } finally {
      this.#search = undefined
    }
  }

  #adopt(connection: Connection): Connection {
    // The client may have been closed between the last SETTINGS and this line.
    if (this.#closing.signal.aborted) connection.retire()
    this.#closing.signal.throwIfAborted()
    for (const known of this.#connections) if (known.ended) this.#connections.delete(known)
    this.#connections.add(connection)
    this.#current = connection
    this.#first = this.#options.endpoints.indexOf(connection.endpoint)
    this.#backoff.reset()
    return connection
  }

  #order(): ResolvedOptions['endpoints'] {
    const { endpoints } = this.#options
    return [...endpoints.slice(this.#first), ...endpoints.slice(0, this.#first)]
  }
}
