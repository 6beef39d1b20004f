/** One stream that keeps leases alive and says, for each answer, when the answered request was sent. */
import { Deadline } from '../../stores/shared/deadline.ts'
import { EtcdProtocolError, EtcdUnreachableError } from './errors.ts'
import { frame } from './frame.ts'
import { LastingStream } from './lasting-stream.ts'
import { LeaseKeepAlive } from './method.ts'
import { type ResolvedOptions, resolveMs } from './options.ts'
import type { Rpc } from './rpc.ts'
import { Status } from './status.ts'

/** An answered keep-alive. */
export interface KeepAliveReply {
  readonly id: bigint
  /** Seconds granted, counted from `sentAtMs` at the earliest; 0: the lease is gone. */
  readonly ttlS: number
  /**
   * `performance.now()` just before the answered request was sent: validity counts from here, never from the answer.
   */
  readonly sentAtMs: number
}

export interface KeepAliveObserver {
  onReply(reply: KeepAliveReply): void
  /** The stream broke, was refused, or an answer is overdue. Unanswered requests are sent again on another stream. */
  onTrouble?(error: Error): void
}

interface Ask {
  readonly sentAtMs: number
  readonly withinMs: number
}

export class KeepAlive {
  readonly #observer: KeepAliveObserver
  readonly #stream: LastingStream
  /** Sent and not answered, oldest first: etcd answers in order. */
  readonly #asked: Map<bigint, Ask[]> = new Map()
  /** To be sent when there is a stream. */
  readonly #queued: Map<bigint, number> = new Map()
  readonly #onClose: () => void
  readonly #overdue: Deadline = new Deadline(() => this.#judge())
  #closed = false

  constructor(rpc: Rpc, options: ResolvedOptions, observer: KeepAliveObserver, onClose: () => void) {
    this.#observer = observer
    this.#onClose = onClose
    this.#stream = new LastingStream(rpc, options, LeaseKeepAlive.path, {
      wanted: () => this.#queued.size > 0,
      onOpen: () => this.#sendQueued(),
      onMessage: (message) => this.#onMessage(message),
      onLost: (error) => this.#onLost(error),
      onRefused: (error) => {
        this.#asked.clear()
        this.#queued.clear()
        this.#observer.onTrouble?.(error)
      },
    })
  }

  /**
   * Asks for one more ttl. If no answer comes within `withinMs` (default 2 000), asks again through another member: a
   * stopped member must not cost a lease that the others would renew.
   */
  send(id: bigint, withinMs?: number): void {
    if (this.#closed) return
    this.#queued.set(id, resolveMs('withinMs', withinMs, 2_000))
    if (this.#stream.open) this.#sendQueued()
    else this.#stream.ensure()
  }

  /** No more replies. */
  close(): void {
    this.#closed = true
    this.#onClose()
    this.#overdue.clear()
    this.#asked.clear()
    this.#queued.clear()
    this.#stream.drop()
  }

  #sendQueued(): void {
    for (const [id, withinMs] of this.#queued) {
      const ask = { sentAtMs: performance.now(), withinMs }
      const asks = this.#asked.get(id)
      if (asks === undefined) this.#asked.set(id, [ask])
      else asks.push(ask)
      this.#stream.send(frame(LeaseKeepAlive.request, { id }))
    }
    this.#queued.clear()
    this.#overdue.set(this.#overdueAtMs())
  }

  #onMessage(message: Buffer): void {
    const { id, ttlS } = LeaseKeepAlive.response.decode(message)
    const asks = this.#asked.get(id)
    const ask = asks?.shift()
    if (asks === undefined || ask === undefined)
      throw new EtcdProtocolError('etcd keep-alive: a reply nobody asked for')
    if (asks.length === 0) this.#asked.delete(id)
    this.#observer.onReply({ id, ttlS, sentAtMs: ask.sentAtMs })
  }

  #onLost(error: Error): void {
    for (const [id, asks] of this.#asked) {
      const withinMs = Math.min(...asks.map((ask) => ask.withinMs))
      if (!this.#queued.has(id)) this.#queued.set(id, withinMs)
    }
    this.#asked.clear()
    this.#overdue.clear()
    this.#observer.onTrouble?.(error)
  }

  #overdueAtMs(): number {
    let earliest = Number.POSITIVE_INFINITY
    for (const asks of this.#asked.values()) {
      for (const ask of asks) earliest = Math.min(earliest, ask.sentAtMs + ask.withinMs)
    }
    return earliest
  }

  #judge(): void {
    const atMs = this.#overdueAtMs()
    if (atMs > performance.now()) return this.#overdue.set(atMs)
    const detail = { status: Status.DEADLINE_EXCEEDED, mayHaveApplied: true }
    this.#stream.renewStream(new EtcdUnreachableError('etcd keep-alive: an answer is overdue', detail), true)
  }
}
