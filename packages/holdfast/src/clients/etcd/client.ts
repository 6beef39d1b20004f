/**
 * An etcd v3 client: keys, transactions, leases, keep-alives and watches, over one connection that moves when it must.
 */
import { UsageError } from '../../contract/errors.ts'
import { within } from '../../stores/shared/deadline.ts'
import { EtcdUnreachableError } from './errors.ts'
import { KeepAlive, type KeepAliveObserver } from './keep-alive.ts'
import { Leases } from './leases.ts'
import type {
  DeleteRangeRequest,
  DeleteRangeResponse,
  PutRequest,
  PutResponse,
  RangeRequest,
  RangeResponse,
} from './messages/kv.ts'
import type { MemberListResponse, StatusResponse } from './messages/server.ts'
import type { RequestOp, TxnRequest, TxnResponse } from './messages/txn.ts'
import { DeleteRange, MemberList, MemberStatus, Put, Range, Txn } from './method.ts'
import { type EtcdClientOptions, type ResolvedOptions, resolveMs, resolveOptions } from './options.ts'
import { type CallOptions, Rpc } from './rpc.ts'
import { Status } from './status.ts'
import { WatchStream } from './watch-stream.ts'
import { type WatchObserver, type WatchOptions, Watcher } from './watcher.ts'

/** Connects when first used. An idle client doesn't keep the process alive; a pending call does. */
export class EtcdClient {
  /** Grants, revokes and looks at leases. */
  readonly lease: Leases
  readonly #options: ResolvedOptions
  readonly #rpc: Rpc
  readonly #watches: WatchStream
  readonly #keepAlives: Set<KeepAlive> = new Set()

  constructor(options: EtcdClientOptions) {
    this.#options = resolveOptions(options)
    this.#rpc = new Rpc(this.#options)
    this.#watches = new WatchStream(this.#rpc, this.#options)
    this.lease = new Leases(this.#rpc)
  }

  /** Reads keys. Repeated on other members until the deadline. */
  range(request: RangeRequest, options?: CallOptions): Promise<RangeResponse> {
    return this.#rpc.read(Range, request, options)
  }

  /** Writes a key. Sent at most once; `mayHaveApplied` of the error says whether it may have happened. */
  put(request: PutRequest, options?: CallOptions): Promise<PutResponse> {
    return this.#rpc.write(Put, request, options)
  }

  /** Removes keys. Sent at most once, as `put`. */
  deleteRange(request: DeleteRangeRequest, options?: CallOptions): Promise<DeleteRangeResponse> {
    return this.#rpc.write(DeleteRange, request, options)
  }

  /**
   * Compares and acts in one step. A transaction of reads only is repeated like `range`; others are sent at most once.
   */
  txn(request: TxnRequest, options?: CallOptions): Promise<TxnResponse> {
    return isReadOnly(request) ? this.#rpc.read(Txn, request, options) : this.#rpc.write(Txn, request, options)
  }

  /** How the connected member sees itself and the cluster. */
  status(options?: CallOptions): Promise<StatusResponse> {
    return this.#rpc.read(MemberStatus, {}, options)
  }

  /** The members of the cluster. */
  members(options?: CallOptions): Promise<MemberListResponse> {
    return this.#rpc.read(MemberList, {}, options)
  }

  /** A stream for keep-alives; it opens with the first `send`, survives broken connections, and lasts until `close`. */
  keepAlive(observer: KeepAliveObserver): KeepAlive {
    const keepAlive = new KeepAlive(this.#rpc, this.#options, observer, () => this.#keepAlives.delete(keepAlive))
    this.#keepAlives.add(keepAlive)
    return keepAlive
  }

  /**
   * Watches a key or range; fulfilled once the server has confirmed. All watchers share one stream and survive broken
   * connections: each continues at the first revision it hasn't been told. The observer may get events, or the end,
   * before the caller's `await` continues.
   */
  async watch(key: Uint8Array, options: WatchOptions & CallOptions, observer: WatchObserver): Promise<Watcher> {
    if ((options.startRevision ?? 0n) < 0n) {
      throw new UsageError(`etcd watch: startRevision is ${options.startRevision}, expected 0n or more`)
    }
    const timeoutMs = resolveMs('timeoutMs', options.timeoutMs, this.#options.timeoutMs)
    const watcher = new Watcher(key, options, observer, (cancelled) => this.#watches.remove(cancelled))
    this.#watches.add(watcher)
    await within(watcher.created, performance.now() + timeoutMs, () => {
      watcher.cancel()
      const detail = { status: Status.DEADLINE_EXCEEDED, mayHaveApplied: false }
      return new EtcdUnreachableError(`etcd watch: not confirmed in ${timeoutMs} ms`, detail)
    })
    return watcher
  }

  /** Ends watchers and keep-alives, lets pending calls end by their deadlines, disconnects. Idempotent. */
  async close(): Promise<void> {
    this.#watches.close()
    for (const keepAlive of this.#keepAlives) keepAlive.close()
    await this.#rpc.close()
  }
}

function isReadOnly({ success = [], failure = [] }: TxnRequest): boolean {
  return success.every(isRead) && failure.every(isRead)
}

function isRead({ range, txn }: RequestOp): boolean {
  return range !== undefined || (txn !== undefined && isReadOnly(txn))
}
