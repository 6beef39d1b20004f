/**
 * Locks that a session of the server holds: connection = ownership. They have no ttl, no token and no order but the
 * server's, and end with the connection. Holds of a process share a connection, or a few; who has to wait does so on
 * one of his own, and keeps it while he holds.
 */
import { onAbort } from '../../contract/aborts.ts'
import { checkKeys, checkName, checkSpan, checkWhole } from '../../contract/check.ts'
import { AcquireTimeoutError, ClosedError, HoldfastError, LockLostError, NotHeldError } from '../../contract/errors.ts'
import { system } from '../../system.ts'
import { Serial } from '../shared/serial.ts'

/** How session locks are named and reached. */
export interface SessionLocksOptions {
  /** How often a connection that holds is asked whether it lives. Default 5 000; 100 to 600 000. */
  readonly keepAliveMs?: number
  /** How long an answer may take before the connection counts as lost. Default 5 000; 1 to 600 000. */
  readonly timeoutMs?: number
}

/** How long to wait for a session lock. */
export interface SessionAcquireOptions {
  /** How long to wait. Default Infinity; 0 tries once. */
  readonly waitMs?: number
  /** Ends the wait; the promise rejects with its reason. Default none. */
  readonly signal?: AbortSignal
}

/** What a holder of a session lock has. */
export interface SessionHeld extends AsyncDisposable {
  readonly name: string
  /** Aborts when the connection is lost, and with it the lock, with the LockLostError as reason. */
  readonly signal: AbortSignal
  /** 'held' as far as this process has heard: a server may have ended the session a moment ago. */
  readonly state: 'held' | 'lost' | 'released'
  /** Throws LockLostError after a loss and NotHeldError after a release. */
  assertHeld(): void
  /**
   * Lets go. True: the server confirms that it was still held. Idempotent; does not reject when the server is out of
   * reach.
   */
  release(): Promise<boolean>
}

/** Session locks of one server, for one process. */
export interface SessionLocks extends AsyncDisposable {
  /** AcquireTimeoutError after `waitMs`; aborted, it rejects with the signal's reason. */
  acquire(name: string, options?: SessionAcquireOptions): Promise<SessionHeld>
  /** null: somebody else holds it. */
  tryAcquire(name: string): Promise<SessionHeld | null>
  /** Ends the connections, and with them whatever is still held. */
  close(): Promise<void>
}

/** One connection to the server. Every call but `lock` settles in time; after a loss all of them reject. */
export interface LockSession {
  readonly isOpen: boolean
  /** Requests without an answer, those of `lock` not counted. */
  readonly load: number
  tryLock(key: string): Promise<boolean>
  /** Waits as long as it takes. */
  lock(key: string): Promise<void>
  /** False: it was not held. */
  unlock(key: string): Promise<boolean>
  ping(): Promise<void>
  /** Called once, when the connection is lost. */
  onLost(lost: (cause: unknown) => void): void
  /** At once, whatever it is doing. */
  end(): void
}

/** What differs between the servers. */
export interface LockServer {
  open(keepAliveMs: number, timeoutMs: number): Promise<LockSession>
  keyOf(name: string): string
  /** Connections that holds share: one is enough where several requests may be on their way in it. */
  readonly sharedMax: number
}

export function makeSessionLocks(options: SessionLocksOptions, server: LockServer): SessionLocks {
  checkKeys('sessionLocks options', options, ['keepAliveMs', 'timeoutMs'])
  const { keepAliveMs = 5_000, timeoutMs = 5_000 } = options
  checkWhole('keepAliveMs', keepAliveMs, 100, 600_000)
  checkWhole('timeoutMs', timeoutMs, 1, 600_000)
  return new ServerLocks({ ...server, open: () => server.open(keepAliveMs, timeoutMs), keepAliveMs })
}

interface ServerLocksParts extends Omit<LockServer, 'open'> {
  open(): Promise<LockSession>
  readonly keepAliveMs: number
}

/** Connections kept for the next who has to wait. */
const SPARES_MAX = 4

class ServerLocks implements SessionLocks {
  readonly #parts: ServerLocksParts
  readonly #asking = new Serial()
  readonly #sessions = new Map<LockSession, Set<Hold>>()
  readonly #spares: LockSession[] = []
  readonly #timer: NodeJS.Timeout
  readonly #shared: LockSession[] = []
  #opening: Promise<LockSession> | null = null
  #closed = false

  constructor(parts: ServerLocksParts) {
    this.#parts = parts
    // A dead peer is noticed by silence: the server's and the kernel's own patience are minutes to hours.
    this.#timer = setInterval(() => this.#ping(), parts.keepAliveMs).unref()
  }

  async acquire(name: string, options: SessionAcquireOptions = {}): Promise<SessionHeld> {
    checkName('name', name)
    checkKeys('acquire options', options, ['waitMs', 'signal'])
    const { waitMs = Number.POSITIVE_INFINITY, signal } = options
    checkSpan('waitMs', waitMs)
    signal?.throwIfAborted()
    const isTimed = waitMs > 0 && waitMs < 2 ** 31
    const held = isTimed
      ? await this.#acquireWithin(name, waitMs, signal)
      : await this.#acquire(name, waitMs > 0, signal)
    if (held === null) throw lateError(name, waitMs)
    return held
  }

  async tryAcquire(name: string): Promise<SessionHeld | null> {
    checkName('name', name)
    return this.#acquire(name, false)
  }

  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#timer)
    const opening = this.#opening
    // A connection that could not be opened needs no closing; whoever asked for it has been told.
    if (opening !== null) await Promise.allSettled([opening])
    for (const session of this.#sessions.keys()) session.end()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #acquireWithin(name: string, waitMs: number, signal: AbortSignal | undefined): Promise<Hold | null> {
    const stop = new AbortController()
    const cancel = system.after(waitMs, () => stop.abort(lateError(name, waitMs)), true)
    const forget = signal === undefined ? null : onAbort(signal, () => stop.abort(signal.reason))
    try {
      return await this.#acquire(name, true, stop.signal)
    } finally {
      cancel()
      forget?.()
    }
  }

  async #acquire(name: string, wait: boolean, stop?: AbortSignal): Promise<Hold | null> {
    // A session may take its own lock twice: callers of one process have to be told apart here.
    if (!(await this.#asking.take(name, wait, stop))) return null
    const pass = (): void => this.#asking.pass(name)
    try {
      const key = this.#parts.keyOf(name)
      const session = await this.#lock(key, wait, stop)
      if (session === null) {
        pass()
        return null
      }
      const hold: Hold = new Hold(name, {
        unlock: () => session.unlock(key),
        ended: () => {
          this.#sessions.get(session)?.delete(hold)
          this.#restore(session)
          pass()
        },
      })
      this.#sessions.get(session)?.add(hold)
      // It broke between the answer and this line.
      if (!session.isOpen) hold.lose(new Error('the connection was lost'))
      return hold
    } catch (error) {
      pass()
      throw error
    }
  }

  /** The session that holds it now; null: somebody else does, and nobody is to wait. */
  async #lock(key: string, wait: boolean, stop: AbortSignal | undefined): Promise<LockSession | null> {
    const shared = this.#pick() ?? (await this.#open())
    if (await shared.tryLock(key)) {
      if (stop?.aborted !== true) return shared
      await shared.unlock(key)
    }
    if (!wait) return null
    stop?.throwIfAborted()
    const own = this.#spares.pop() ?? (await this.#connect())
    // Whoever gives up ends the connection: whether the server has granted it meanwhile can't be known otherwise.
    let forget: (() => void) | null = null
    try {
      stop?.throwIfAborted()
      if (stop !== undefined) forget = onAbort(stop, () => own.end())
      await own.lock(key)
    } catch (error) {
      own.end()
      stop?.throwIfAborted()
      throw error
    } finally {
      forget?.()
    }
    return own
  }

  /**
   * The shared connection with the least to do; null: there is none yet. If all are busy another is opened for those
   * who come later.
   */
  #pick(): LockSession | null {
    if (this.#closed) throw new ClosedError('these session locks were closed')
    let best: LockSession | null = null
    for (const session of this.#shared) {
      if (session.load === 0) return session
      if (best === null || session.load < best.load) best = session
    }
    // If it can't be had, those that are there go on.
    if (best !== null && this.#shared.length < this.#parts.sharedMax) this.#open().catch(nothing)
    return best
  }

  #open(): Promise<LockSession> {
    this.#opening ??= this.#connect().then(
      (session) => {
        this.#opening = null
        this.#shared.push(session)
        session.onLost(() => this.#shared.splice(this.#shared.indexOf(session), 1))
        return session
      },
      (error: unknown) => {
        this.#opening = null
        throw error
      },
    )
    return this.#opening
  }

  async #connect(): Promise<LockSession> {
    const session = await this.#parts.open()
    if (this.#closed) {
      session.end()
      throw new ClosedError('these session locks were closed')
    }
    const holds = new Set<Hold>()
    this.#sessions.set(session, holds)
    session.onLost((cause) => {
      this.#sessions.delete(session)
      const at = this.#spares.indexOf(session)
      if (at !== -1) this.#spares.splice(at, 1)
      for (const hold of [...holds]) hold.lose(cause)
    })
    return session
  }

  /** A connection that was one waiter's own is kept for the next. */
  #restore(session: LockSession): void {
    if (!session.isOpen || this.#sessions.get(session)?.size !== 0) return
    if (this.#shared.includes(session) || this.#spares.includes(session)) return
    if (this.#spares.length < SPARES_MAX) this.#spares.push(session)
    else session.end()
  }

  #ping(): void {
    // An answer that does not come ends the session, which tells the holds; there is nobody else to tell.
    for (const [session, holds] of this.#sessions) if (holds.size > 0) session.ping().catch(nothing)
  }
}

function nothing(): void {}

function lateError(name: string, waitMs: number): AcquireTimeoutError {
  return new AcquireTimeoutError(`${name} was not had within ${waitMs} ms`, { line: name })
}

interface HoldParts {
  unlock(): Promise<boolean>
  ended(): void
}

class Hold implements SessionHeld {
  readonly name: string
  readonly #parts: HoldParts
  /** Made when asked for: most holders never do. */
  #lost: AbortController | null = null
  #loss: LockLostError | null = null
  #state: SessionHeld['state'] = 'held'

  constructor(name: string, parts: HoldParts) {
    this.name = name
    this.#parts = parts
  }

  get signal(): AbortSignal {
    if (this.#lost === null) {
      this.#lost = new AbortController()
      if (this.#loss !== null) this.#lost.abort(this.#loss)
    }
    return this.#lost.signal
  }

  get state(): SessionHeld['state'] {
    return this.#state
  }

  assertHeld(): void {
    if (this.#loss !== null) throw this.#loss
    if (this.#state === 'released') throw new NotHeldError(`${this.name} was released`, { line: this.name })
  }

  async release(): Promise<boolean> {
    if (this.#state !== 'held') return false
    this.#state = 'released'
    try {
      return await this.#parts.unlock()
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error
      // The connection is gone, and the lock with it: it is free, but it was not ours to the end.
      return false
    } finally {
      this.#parts.ended()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release()
  }

  lose(cause: unknown): void {
    if (this.#state !== 'held') return
    this.#state = 'lost'
    this.#loss = new LockLostError(`${this.name}: the connection that held it was lost`, { line: this.name, cause })
    this.#parts.ended()
    this.#lost?.abort(this.#loss)
  }
}
