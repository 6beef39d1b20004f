/** Calls to the cluster: deadline, token, the choice of a member, and repeated reads. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ClosedError } from '../../contract/errors.ts'
import { Deadline, within } from '../../stores/shared/deadline.ts'
import { Backoff } from '../../stores/shared/backoff.ts'
import { Call, type CallObserver, requestHeaders } from './call.ts'
import { Channel } from './channel.ts'
import type { Connection } from './connection.ts'
import { Credentials, wantsToken } from './credentials.ts'
import { EtcdProtocolError, EtcdUnreachableError } from './errors.ts'
import { frame } from './frame.ts'
import { Authenticate, type Method } from './method.ts'
import { type ResolvedOptions, resolveMs } from './options.ts'
import { Status } from './status.ts'

/** Options of one call. */
export interface CallOptions {
  /** How long the call may take until it is answered or rejected. Default: the client's `timeoutMs`. */
  readonly timeoutMs?: number
}

/** A long-lived call and its connection. */
export interface Stream {
  readonly call: Call
  readonly connection: Connection
  /** The token that the stream was opened with. */
  readonly token: string | undefined
}

const ATTEMPT_MIN_MS = 500

/** The two ends of a promise. */
interface Settle<R> {
  resolve(reply: R): void
  reject(error: unknown): void
}

export class Rpc {
  readonly #options: ResolvedOptions
  readonly #channel: Channel
  readonly #credentials: Credentials | undefined
  #closed: Promise<void> | undefined
  #pending = 0
  #drained: (() => void) | undefined

  constructor(options: ResolvedOptions) {
    this.#options = options
    this.#channel = new Channel(options)
    const { user, password } = options
    if (user !== undefined && password !== undefined) {
      this.#credentials = new Credentials(async () => {
        const deadlineMs = performance.now() + options.timeoutMs
        const body = frame(Authenticate.request, { name: user, password })
        const connection = await this.#channel.connection(deadlineMs)
        return (await this.#attempt(connection, Authenticate, body, undefined, deadlineMs)).token
      })
    }
  }

  /** The token in use; a stream opened with another token is out of date. */
  get token(): string | undefined {
    return this.#credentials?.token
  }

  /** A write: sent at most once, except after a refusal of the token, which etcd gives before it looks further. */
  write<Q extends object, R extends object>(method: Method<Q, R>, request: Q, o?: CallOptions): Promise<R> {
    const connection = this.#channel.ready
    // The common case, without a promise for each step.
    if (connection !== undefined && this.#credentials === undefined && this.#closed === undefined) {
      return this.#writeNow(connection, method, request, o)
    }
    return this.#write(method, request, o)
  }

  #writeNow<Q extends object, R extends object>(
    connection: Connection,
    method: Method<Q, R>,
    request: Q,
    o: CallOptions | undefined,
  ): Promise<R> {
    return new Promise((resolve, reject) => {
      const body = frame(method.request, request)
      const deadlineMs = this.#begin(o)
      this.#send(connection, method, body, undefined, deadlineMs, {
        resolve: (reply) => (this.#finish(), resolve(reply)),
        reject: (error) => (this.#finish(), reject(error)),
      })
    })
  }

  async #write<Q extends object, R extends object>(method: Method<Q, R>, request: Q, o?: CallOptions): Promise<R> {
    const deadlineMs = this.#begin(o)
    try {
      return await this.#authorised(method, frame(method.request, request), deadlineMs, deadlineMs)
    } finally {
      this.#finish()
    }
  }

  /** A read: repeated until the deadline while members don't answer, on other members if there are any. */
  async read<Q extends object, R extends object>(method: Method<Q, R>, request: Q, o?: CallOptions): Promise<R> {
    const deadlineMs = this.#begin(o)
    const backoff = new Backoff(this.#options)
    try {
      const body = frame(method.request, request)
      for (;;) {
        try {
          return await this.#authorised(method, body, this.#attemptDeadlineMs(deadlineMs), deadlineMs)
        } catch (error) {
          const pauseMs = backoff.next()
          if (!(error instanceof EtcdUnreachableError) || performance.now() + pauseMs >= deadlineMs) throw error
          await sleep(pauseMs)
        }
      }
    } finally {
      this.#finish()
    }
  }

  /** Opens a long-lived call in the background, waiting up to `timeoutMs` for a connection. */
  async stream(path: string, observer: CallObserver): Promise<Stream> {
    if (this.#closed !== undefined) throw new ClosedError('etcd client: closed')
    const deadlineMs = performance.now() + this.#options.timeoutMs
    await this.#channel.connection(deadlineMs, true)
    const token = this.#credentials && (this.#credentials.token ?? (await this.#credentials.renew(undefined)))
    const connection = await this.#channel.connection(deadlineMs, true)
    const headers = requestHeaders(path)
    headers.hasleader = 'true'
    if (token) headers.token = token
    const call = new Call(connection, headers, observer)
    return { call, connection, token }
  }

  /**
   * This member does not serve the stream: new calls go to another member, if there is one or if this one is broken.
   */
  avoid(stream: Stream, broken: boolean): void {
    this.#channel.avoid(stream.connection, broken)
  }

  /** A stream was refused with this token: the next stream logs in again. */
  forgetToken(refused: string | undefined): void {
    this.#credentials?.forget(refused)
  }

  /** Refuses new calls, lets the pending calls end by their deadlines, then disconnects. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#channel.refuse()
    if (this.#pending > 0) {
      await new Promise<void>((resolve) => {
        this.#drained = resolve
      })
    }
    this.#channel.close()
  }

  #begin(o: CallOptions | undefined): number {
    if (this.#closed !== undefined) throw new ClosedError('etcd client: closed')
    const timeoutMs = o?.timeoutMs === undefined ? this.#options.timeoutMs : resolveMs('timeoutMs', o.timeoutMs, 0)
    this.#pending++
    return performance.now() + timeoutMs
  }

  #finish(): void {
    this.#pending--
    if (this.#pending === 0) this.#drained?.()
  }

  /** Half of what is left, so that a hanging member leaves time for another one. */
  #attemptDeadlineMs(deadlineMs: number): number {
    const nowMs = performance.now()
    const halfMs = (deadlineMs - nowMs) / 2
    return this.#options.endpoints.length > 1 && halfMs >= ATTEMPT_MIN_MS ? nowMs + halfMs : deadlineMs
  }

  async #authorised<Q extends object, R extends object>(
    method: Method<Q, R>,
    body: Buffer,
    attemptDeadlineMs: number,
    deadlineMs: number,
  ): Promise<R> {
    const credentials = this.#credentials
    const token = credentials && (credentials.token ?? (await this.#renewed(credentials, undefined, deadlineMs)))
    const connection = this.#channel.ready ?? (await this.#channel.connection(deadlineMs))
    try {
      return await this.#attempt(connection, method, body, token, attemptDeadlineMs)
    } catch (error) {
      if (credentials === undefined || !wantsToken(error)) throw error
      const next = await this.#renewed(credentials, token, deadlineMs)
      const again = this.#channel.ready ?? (await this.#channel.connection(deadlineMs))
      return await this.#attempt(again, method, body, next, deadlineMs)
    }
  }

  #renewed(credentials: Credentials, refused: string | undefined, deadlineMs: number): Promise<string> {
    return within(credentials.renew(refused), deadlineMs, () => {
      const asked = this.#channel.ready
      // The login has a deadline of its own, a little later than this one, so its reason must be given here.
      if (asked === undefined) return this.#channel.nobody()
      const detail = { status: Status.DEADLINE_EXCEEDED, mayHaveApplied: false }
      return new EtcdUnreachableError(`etcd ${asked.endpoint.origin}: no token by the deadline`, detail)
    })
  }

  /** Sends the request to this member, once. */
  #attempt<Q extends object, R extends object>(
    connection: Connection,
    method: Method<Q, R>,
    body: Buffer,
    token: string | undefined,
    deadlineMs: number,
  ): Promise<R> {
    return new Promise((resolve, reject) => {
      this.#send(connection, method, body, token, deadlineMs, { resolve, reject })
    })
  }

  /** Settles exactly once; throws nothing. */
  #send<Q extends object, R extends object>(
    connection: Connection,
    method: Method<Q, R>,
    body: Buffer,
    token: string | undefined,
    deadlineMs: number,
    { resolve, reject }: Settle<R>,
  ): void {
    const leftMs = Math.max(1, Math.ceil(deadlineMs - performance.now()))
    const headers = requestHeaders(method.path)
    headers['grpc-timeout'] = `${leftMs}m`
    if (token) headers.token = token
    let reply: Buffer | undefined
    let call: Call | undefined
    const deadline = new Deadline(() => call?.cancel(this.#late(connection, method.path, leftMs)))
    deadline.keepAlive(true)
    deadline.set(performance.now() + leftMs)
    const onEnd = (error: Error | null): void => {
      deadline.clear()
      if (error instanceof EtcdUnreachableError) this.#channel.avoid(connection, error.status !== Status.UNAVAILABLE)
      if (error !== null) return reject(error)
      if (reply === undefined) return reject(new EtcdProtocolError(`etcd ${method.path}: an empty reply`))
      let decoded: R
      try {
        decoded = method.response.decode(reply)
      } catch (undecodable) {
        return reject(undecodable)
      }
      resolve(decoded)
    }
    const onMessage = (message: Buffer): void => {
      reply = message
    }
    try {
      call = new Call(connection, headers, { onMessage, onEnd })
    } catch (error) {
      deadline.clear()
      return reject(error)
    }
    call.sendLast(body)
  }

  #late(connection: Connection, path: string, leftMs: number): EtcdUnreachableError {
    return new EtcdUnreachableError(`etcd ${connection.endpoint.origin}${path}: no answer in ${leftMs} ms`, {
      status: Status.DEADLINE_EXCEEDED,
      mayHaveApplied: true,
    })
  }
}
