/**
 * The one stream that carries all watchers. After a break each watcher continues at the first revision that it has not
 * been told.
 */
import { ClosedError } from '../../contract/errors.ts'
import { EtcdCompactedError, EtcdProtocolError, EtcdUnreachableError, EtcdWatchCancelledError } from './errors.ts'
import { frame } from './frame.ts'
import { LastingStream } from './lasting-stream.ts'
import type { WatchResponse } from './messages/watch.ts'
import { Range, Watch } from './method.ts'
import type { ResolvedOptions } from './options.ts'
import type { Rpc } from './rpc.ts'
import type { Watcher } from './watcher.ts'

const LINGER_MS = 5_000
const FORBIDDEN = /permission denied|invalid auth token/i

export class WatchStream {
  readonly #rpc: Rpc
  readonly #stream: LastingStream
  /** All watchers to serve, with the id that the open stream has given them. */
  readonly #watchers: Map<Watcher, bigint | undefined> = new Map()
  readonly #byId: Map<bigint, Watcher> = new Map()
  /** Asked for on the open stream and not confirmed yet, in order, because the server confirms in order. */
  #asked: Watcher[] = []
  /** Watchers refused once although reading was permitted: the next refusal counts. */
  readonly #warned: WeakSet<Watcher> = new WeakSet()
  #lingerTimer: NodeJS.Timeout | undefined

  constructor(rpc: Rpc, options: ResolvedOptions) {
    this.#rpc = rpc
    this.#stream = new LastingStream(rpc, options, Watch.path, {
      wanted: () => this.#watchers.size > 0,
      onOpen: () => {
        for (const watcher of this.#watchers.keys()) this.#ask(watcher)
      },
      onMessage: (message) => this.#onAnswer(Watch.response.decode(message)),
      onLost: () => this.#forgetIds(),
      onRefused: (error) => this.#endAll(new EtcdWatchCancelledError(error.message, error)),
    })
  }

  add(watcher: Watcher): void {
    clearTimeout(this.#lingerTimer)
    this.#watchers.set(watcher, undefined)
    if (this.#stream.open) this.#ask(watcher)
    else this.#stream.ensure()
  }

  /** Forgets a watcher, and tells the server if it knows of that watcher. */
  remove(watcher: Watcher): void {
    const watchId = this.#watchers.get(watcher)
    this.#watchers.delete(watcher)
    if (watchId !== undefined) {
      this.#byId.delete(watchId)
      this.#cancel(watchId)
    }
    this.#linger()
  }

  /** Ends every watcher with a `ClosedError`. */
  close(): void {
    this.#endAll(new ClosedError('etcd client: closed'))
    clearTimeout(this.#lingerTimer)
    this.#stream.drop()
  }

  #ask(watcher: Watcher): void {
    this.#asked.push(watcher)
    this.#stream.send(frame(Watch.request, { create: watcher.request() }))
  }

  #cancel(watchId: bigint): void {
    this.#stream.send(frame(Watch.request, { cancel: { watchId } }))
  }

  #onAnswer(answer: WatchResponse): void {
    if (answer.created) return this.#onCreated(answer)
    const watcher = this.#byId.get(answer.watchId)
    // The watcher was cancelled here a moment ago: drop what was on its way.
    if (watcher === undefined) return
    if (answer.canceled) this.#end(watcher, answer)
    else watcher.onAnswer(answer)
  }

  #onCreated(answer: WatchResponse): void {
    const watcher = this.#asked.shift()
    if (watcher === undefined) throw new EtcdProtocolError('etcd watch: a watcher nobody asked for')
    const wanted = this.#watchers.has(watcher)
    if (answer.canceled) {
      if (wanted) this.#end(watcher, answer)
    } else if (wanted) {
      this.#watchers.set(watcher, answer.watchId)
      this.#byId.set(answer.watchId, watcher)
      watcher.onCreated(answer.header.revision)
    } else this.#cancel(answer.watchId)
  }

  #end(watcher: Watcher, answer: WatchResponse): void {
    const { watchId, compactRevision, cancelReason } = answer
    this.#watchers.delete(watcher)
    this.#byId.delete(watchId)
    if (compactRevision > 0n) watcher.end(new EtcdCompactedError(compactRevision))
    else if (FORBIDDEN.test(cancelReason) && this.#stream.token && !this.#warned.has(watcher)) {
      this.#warned.add(watcher)
      // In the background: its errors end the watcher.
      void this.#recheck(watcher, cancelReason)
    } else watcher.end(new EtcdWatchCancelledError(cancelReason))
    this.#linger()
  }

  /**
   * The stream carries the token it was opened with. When that token has expired, etcd 3.4 answers a new watch with
   * "permission denied", exactly as if the user had no right to the key. A read of the same keys tells the two apart,
   * and renews the token on its way.
   */
  async #recheck(watcher: Watcher, reason: string): Promise<void> {
    try {
      await this.#rpc.read(Range, watcher.probe())
    } catch (error) {
      if (!(error instanceof EtcdUnreachableError)) return watcher.end(new EtcdWatchCancelledError(reason, error))
    }
    if (watcher.ended) return
    const stale = this.#stream.open && this.#stream.token !== this.#rpc.token
    if (stale) this.#stream.renewStream(new Error('etcd watch: the stream carries an expired token'), false)
    this.add(watcher)
  }

  #forgetIds(): void {
    this.#asked = []
    this.#byId.clear()
    for (const watcher of this.#watchers.keys()) this.#watchers.set(watcher, undefined)
  }

  #endAll(error: Error): void {
    const all = [...this.#watchers.keys()]
    this.#watchers.clear()
    this.#forgetIds()
    for (const watcher of all) watcher.end(error)
  }

  /** Without watchers the stream is kept a little longer, for the next watcher, but not for ever: it costs probes. */
  #linger(): void {
    if (this.#watchers.size > 0) return
    clearTimeout(this.#lingerTimer)
    this.#lingerTimer = setTimeout(() => {
      if (this.#watchers.size > 0) return
      this.#forgetIds()
      this.#stream.drop()
    }, LINGER_MS)
    this.#lingerTimer.unref()
  }
}
