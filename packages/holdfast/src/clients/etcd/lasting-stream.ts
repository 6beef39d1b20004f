/** A stream that is opened again, on another member if need be, for as long as somebody wants it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ClosedError } from '../../contract/errors.ts'
import { Backoff } from '../../stores/shared/backoff.ts'
import { wantsToken } from './credentials.ts'
import { EtcdError, EtcdUnreachableError } from './errors.ts'
import type { ResolvedOptions } from './options.ts'
import type { Rpc, Stream } from './rpc.ts'
import { isRefusal, Status } from './status.ts'

export interface StreamObserver {
  /** Whether there is still a reason to have the stream. */
  wanted(): boolean
  /** A fresh stream is open: say again what the server must know. */
  onOpen(): void
  onMessage(message: Buffer): void
  /** The stream broke and will be opened again: what was sent and not answered is lost. */
  onLost(error: Error): void
  /** The server refuses this stream, on every member. It is not opened again until `ensure`. */
  onRefused(error: Error): void
}

export class LastingStream {
  readonly #rpc: Rpc
  readonly #path: string
  readonly #observer: StreamObserver
  readonly #backoff: Backoff
  #stream: Stream | undefined
  #opening = false
  /** True: a refused token was replaced, and no answer has come since. A second refusal is not about the token. */
  #renewed = false

  /**
   * New calls go to another member, because this one could not serve one of them. A keep-alive that stayed here would
   * be answered, if at all, by a member that has fallen behind: a leader that stood still believes in itself for a
   * moment when it goes on.
   */
  readonly #onRetired = (): void => {
    this.renewStream(new Error(`etcd ${this.#path}: the connection was given up for another one`), false)
  }

  constructor(rpc: Rpc, options: ResolvedOptions, path: string, observer: StreamObserver) {
    this.#rpc = rpc
    this.#path = path
    this.#observer = observer
    this.#backoff = new Backoff(options)
  }

  get open(): boolean {
    return this.#stream !== undefined
  }

  /** The token that the open stream carries. */
  get token(): string | undefined {
    return this.#stream?.token
  }

  /** Opens the stream unless it is open or about to be. */
  ensure(): void {
    if (this.#stream !== undefined || this.#opening) return
    this.#opening = true
    // In the background: every error that a store can cause ends in the observer.
    void this.#open()
  }

  send(framed: Buffer): void {
    this.#stream?.call.send(framed)
  }

  /** Replaces the open stream by a new one, on another member if this one is `broken`. */
  renewStream(reason: Error, broken: boolean): void {
    const stream = this.#stream
    if (stream === undefined) return
    this.drop()
    if (broken) this.#rpc.avoid(stream, true)
    this.#observer.onLost(reason)
    if (this.#observer.wanted()) this.ensure()
  }

  /** Ends the stream silently; `ensure` opens a new one. */
  drop(): void {
    this.#lose()?.call.cancel(null)
  }

  /** This stream is not the open one any more. */
  #lose(): Stream | undefined {
    const stream = this.#stream
    this.#stream = undefined
    stream?.connection.retired.removeEventListener('abort', this.#onRetired)
    return stream
  }

  async #open(): Promise<void> {
    while (this.#observer.wanted()) {
      const pauseMs = this.#backoff.next()
      if (pauseMs > 0) await sleep(pauseMs, undefined, { ref: false })
      try {
        const stream = await this.#rpc.stream(this.#path, {
          onMessage: (message) => this.#onMessage(stream, message),
          onEnd: (error) => this.#onEnd(stream, error),
        })
        this.#stream = stream
        stream.connection.retired.addEventListener('abort', this.#onRetired)
        break
      } catch (error) {
        if (error instanceof EtcdUnreachableError) this.#observer.onLost(error)
        else {
          this.#opening = false
          if (!(error instanceof ClosedError)) this.#observer.onRefused(error as Error)
          return
        }
      }
    }
    this.#opening = false
    if (this.#stream === undefined) return
    // If the connection was retired between the opening and this line, no event will tell.
    if (this.#stream.connection.retired.aborted) this.#onRetired()
    else if (this.#observer.wanted()) this.#observer.onOpen()
    else this.drop()
  }

  #onMessage(stream: Stream, message: Buffer): void {
    if (stream !== this.#stream) return
    this.#backoff.reset()
    this.#renewed = false
    this.#observer.onMessage(message)
  }

  #onEnd(stream: Stream, error: Error | null): void {
    if (stream !== this.#stream) return
    this.#lose()
    const loss = error ?? new Error(`etcd ${this.#path}: the server ended the stream`)
    if (wantsToken(error) && !this.#renewed) {
      this.#renewed = true
      this.#rpc.forgetToken(stream.token)
    } else if (error instanceof EtcdError && isRefusal(error.status) && error.status !== Status.RESOURCE_EXHAUSTED) {
      this.#observer.onRefused(error)
      return
    } else this.#rpc.avoid(stream, false)
    this.#observer.onLost(loss)
    if (this.#observer.wanted()) this.ensure()
  }
}
