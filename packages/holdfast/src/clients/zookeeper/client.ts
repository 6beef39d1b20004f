/** A ZooKeeper client: one session at one ensemble, every request typed and bounded in time. */
import { Deadline } from '../../stores/shared/deadline.ts'
import { Channel } from './channel.ts'
import { Chroot } from './chroot.ts'
import { isZooKeeperError, ZooKeeperUnreachableError } from './errors.ts'
import { closedError } from './answers.ts'
import { type MultiOp, type MultiResult, multi } from './multi.ts'
import { assertIdentity, requestTimeout, resolveOptions, type ZooKeeperClientOptions } from './options.ts'
import * as requests from './requests.ts'
import type { CreateOptions } from './requests.ts'
import { Servers } from './servers.ts'
import type { SessionView } from './session.ts'
import type { Stat } from './stat.ts'
import type { ClientState, StateListener } from './states.ts'
import { type WatchCallback, Watches } from './watches.ts'

const ANY_VERSION = -1

export interface RequestOptions {
  /** How long this request may take. Default: the client's requestTimeoutMs. 1 … 2^31 - 1. */
  readonly timeoutMs?: number
}

export interface ReadOptions extends RequestOptions {
  /** Called once when what was read changes. Default none. */
  readonly watch?: WatchCallback
}

/**
 * A client. Requests reject with `ZooKeeperError` if the server refuses them, and with `ZooKeeperUnreachableError` if
 * no answer comes; `sent` of the latter says whether the request may have taken effect. The client never repeats a
 * request.
 */
export class ZooKeeperClient {
  readonly #chroot: Chroot
  readonly #watches: Watches
  readonly #channel: Channel
  readonly #requestTimeoutMs: number

  /** Does no I/O; the first request or `connect` does. */
  constructor(options: ZooKeeperClientOptions) {
    const resolved = resolveOptions(options)
    this.#requestTimeoutMs = resolved.requestTimeoutMs
    this.#chroot = new Chroot(options.chroot)
    this.#watches = new Watches(this.#chroot)
    this.#channel = new Channel(resolved, new Servers(options.servers, resolved.random), this.#watches)
  }

  get state(): ClientState {
    return this.#channel.states.current
  }

  /** The session and its deadline; null before the first one and after an expiry. */
  get session(): SessionView | null {
    return this.#channel.session
  }

  /** The latest transaction that this session has seen: no server that is behind it is accepted. */
  get lastZxid(): bigint {
    return this.#channel.lastZxid
  }

  /** Calls `listener` on every change of state until the returned function is called. */
  onState(listener: StateListener): () => void {
    return this.#channel.states.listen(listener)
  }

  /** Resolves once connected; after an expiry it opens a new session. */
  connect(options: RequestOptions = {}): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const timeoutMs = requestTimeout(options.timeoutMs, this.#requestTimeoutMs)
      const fail = (because: string, cause?: Error | null): void => {
        const detail = { request: 'connect', path: this.#chroot.prefix || '/', sent: false, because }
        reject(new ZooKeeperUnreachableError('ConnectionLoss', { ...detail, cause: cause ?? undefined }))
      }
      const judge = (state: ClientState, cause?: Error): boolean => {
        if (state === 'connected') resolve()
        else if (state === 'closed') reject(closedError())
        else if (state === 'authFailed') fail('authentication has failed', cause)
        else return false
        return true
      }
      this.#channel.start()
      this.#channel.renew()
      if (judge(this.state)) return
      const stop = this.onState((state, cause) => {
        if (!judge(state, cause)) return
        deadline.clear()
        stop()
      })
      const deadline = new Deadline(() => {
        stop()
        fail(`no server could be reached within ${timeoutMs} ms`, this.#channel.lastFailure)
      })
      deadline.keepAlive(true)
      deadline.set(performance.now() + timeoutMs)
    })
  }

  /** After an expiry: opens a new session for later requests. Otherwise does nothing. */
  renew(): void {
    this.#channel.renew()
  }

  /** Adds an identity to the session; the client gives it again on every reconnect and to every later session. */
  auth(scheme: string, credential: string | Uint8Array, options?: RequestOptions): Promise<void> {
    return new Promise<void>((resolve) => {
      const identity = { scheme, credential }
      assertIdentity(identity)
      resolve(this.#channel.authenticate(identity, requestTimeout(options?.timeoutMs, this.#requestTimeoutMs)))
    })
  }

  /** Creates a node and resolves to its path, which the server completes for sequential nodes. */
  create(
    path: string,
    data: Uint8Array = requests.NO_DATA,
    options: CreateOptions & RequestOptions = {},
  ): Promise<string> {
    return this.#call(options, () => requests.create(this.#chroot, path, data, options))
  }

  /** Like create, with the new node's Stat in the same answer. */
  create2(
    path: string,
    data: Uint8Array = requests.NO_DATA,
    options: CreateOptions & RequestOptions = {},
  ): Promise<{ path: string; stat: Stat }> {
    return this.#call(options, () => requests.create2(this.#chroot, path, data, options))
  }

  /** Deletes a node without children; `version` -1 means any. */
  delete(path: string, version: number = ANY_VERSION, options?: RequestOptions): Promise<void> {
    return this.#call(options, () => requests.remove(this.#chroot, path, version))
  }

  /** The node's Stat, or null if there is none; a watch then waits for its creation. */
  exists(path: string, options?: ReadOptions): Promise<Stat | null> {
    return this.#call(options, () => requests.exists(this.#chroot, path, options?.watch))
  }

  getData(path: string, options?: ReadOptions): Promise<{ data: Buffer; stat: Stat }> {
    return this.#call(options, () => requests.getData(this.#chroot, path, options?.watch))
  }

  /** Replaces a node's data; `version` -1 means any. */
  setData(path: string, data: Uint8Array, version: number = ANY_VERSION, options?: RequestOptions): Promise<Stat> {
    return this.#call(options, () => requests.setData(this.#chroot, path, data, version))
  }

  /** The names of a node's children, in no order, and its Stat. */
  getChildren(path: string, options?: ReadOptions): Promise<{ children: string[]; stat: Stat }> {
    return this.#call(options, () => requests.getChildren(this.#chroot, path, options?.watch))
  }

  /** All operations or none; rejects with the error of the one that failed, its position in `index`. */
  multi(ops: readonly MultiOp[], options?: RequestOptions): Promise<MultiResult[]> {
    return this.#call(options, () => multi(this.#chroot, ops))
  }

  /** Resolves when the connected server has caught up with the leader: reads sent after it see all that came before. */
  sync(path: string, options?: RequestOptions): Promise<string> {
    return this.#call(options, () => requests.sync(this.#chroot, path))
  }

  /**
   * Watches a node, or with `recursive` its whole subtree, until removed; 3.6 and later. Calls back with `gap` after
   * each reconnect.
   */
  addWatch(path: string, callback: WatchCallback, options?: RequestOptions & { recursive?: boolean }): Promise<void> {
    return this.#call(options, () => requests.addWatch(this.#chroot, path, options?.recursive ?? false, callback))
  }

  /** Removes all watches of this session at a path, here and at the server, without calling back. */
  removeWatches(path: string, options?: RequestOptions): Promise<void> {
    return this.#call(options, () => requests.removeWatches(this.#chroot, path, () => this.#watches.forgetPath(path)))
  }

  /** Forgets one callback at once, without a request; true: it had not been called yet. */
  unwatch(path: string, callback: WatchCallback): boolean {
    return this.#watches.forget(path, callback)
  }

  /** Creates the missing nodes of the chroot itself. */
  async ensureChroot(options?: RequestOptions): Promise<void> {
    for (const node of this.#chroot.ancestors()) {
      // Look first: a user who may not create at the parent may still use an existing chroot.
      if ((await this.#call(options, () => requests.existsAbsolute(node))) !== null) continue
      try {
        await this.#call(options, () => requests.createAbsolute(node))
      } catch (error) {
        if (!isZooKeeperError(error, 'NodeExists')) throw error
      }
    }
  }

  /**
   * Ends the session, its timers and its connection; true: the server confirmed the end. Waits at most `timeoutMs` for
   * that.
   */
  close(options?: RequestOptions & { readonly abandon?: boolean }): Promise<boolean> {
    const timeoutMs = requestTimeout(options?.timeoutMs, this.#requestTimeoutMs)
    return this.#channel.close(timeoutMs, options?.abandon ?? false)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #call<T>(options: RequestOptions | undefined, build: () => requests.Request<T>): Promise<T> {
    const timeoutMs = options?.timeoutMs
    if (timeoutMs === undefined) return this.#channel.call(build, this.#requestTimeoutMs)
    return new Promise((resolve) => {
      resolve(this.#channel.call(build, requestTimeout(timeoutMs, this.#requestTimeoutMs)))
    })
  }
}
