/**
 * Locks that a session of the server holds: connection = ownership. They have no ttl, no token and no order but the server's, and end with the connection.
 * All holds of a process share one connection; who has to wait does so on another, and keeps it while it holds.
 */
import { checkKeys, checkName, checkSpan } from '../../core/check.ts'
import { AcquireTimeoutError, ClosedError, HoldfastError, LockLostError, NotHeldError } from '../../core/errors.ts'
import { LocalTurns } from './local-turns.ts'

export interface SessionAcquireOptions {
  /** How long to wait. Default Infinity; 0 tries once. */
  readonly waitMs?: number
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
  /** Lets go. True: the server confirms that it was still held. Idempotent; does not reject when the server is out of reach. */
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

export interface SessionLocksParts {
  open(): Promise<LockSession>
  keyOf(name: string): string
  readonly keepAliveMs: number
}

/** Connections kept for the next who has to wait. */
const SPARES_MAX = 4

export class ServerLocks implements SessionLocks {
  readonly #parts: SessionLocksParts
  readonly #turns = new LocalTurns()
  readonly #sessions = new Map<LockSession, Set<Hold>>()
  readonly #spares: LockSession[] = []
  readonly #timer: NodeJS.Timeout
  #shared: Promise<LockSession> | null = null
  #common: LockSession | null = null
  #closed = false

  constructor(parts: SessionLocksParts) {
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
    const late = new AcquireTimeoutError(`${name} was not had within ${waitMs} ms`, { line: name })
    const stop = new AbortController()
    const timer = waitMs > 0 && waitMs < 2 ** 31 ? setTimeout(() => stop.abort(late), waitMs) : null
    const abort = (): void => stop.abort(signal?.reason)
    signal?.addEventListener('abort', abort, { once: true })
    try {
      const held = await this.#acquire(name, waitMs > 0 ? stop.signal : null)
      if (held === null) throw late
      return held
    } finally {
      if (timer !== null) clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
  }

  async tryAcquire(name: string): Promise<SessionHeld | null> {
    checkName('name', name)
    return this.#acquire(name, null)
  }

  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#timer)
    const opening = this.#shared
    // A connection that could not be opened needs no closing; whoever asked for it has been told.
    if (opening !== null) await Promise.allSettled([opening])
    for (const session of this.#sessions.keys()) session.end()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** `stop` null: do not wait. */
  async #acquire(name: string, stop: AbortSignal | null): Promise<Hold | null> {
    // A session may take its own lock twice: callers of one process have to be told apart here.
    if (!(await this.#turns.take(name, stop))) return null
    const pass = (): void => this.#turns.pass(name)
    try {
      const key = this.#parts.keyOf(name)
      const session = await this.#lock(key, stop)
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
  async #lock(key: string, stop: AbortSignal | null): Promise<LockSession | null> {
    const shared = await this.#open()
    if (await shared.tryLock(key)) {
      if (stop?.aborted !== true) return shared
      await shared.unlock(key)
    }
    if (stop === null) return null
    stop.throwIfAborted()
    const own = this.#spares.pop() ?? (await this.#connect())
    const abandon = (): void => own.end()
    // Whoever gives up ends the connection: whether the server has granted it meanwhile can't be known otherwise.
    stop.addEventListener('abort', abandon, { once: true })
    try {
      stop.throwIfAborted()
      await own.lock(key)
    } catch (error) {
      own.end()
      stop.throwIfAborted()
      throw error
    } finally {
      stop.removeEventListener('abort', abandon)
    }
    return own
  }

  #open(): Promise<LockSession> {
    if (this.#closed) throw new ClosedError('these session locks were closed')
    this.#shared ??= this.#connect().then(
      (session) => {
        this.#common = session
        session.onLost(() => {
          this.#shared = null
        })
        return session
      },
      (error: unknown) => {
        this.#shared = null
        throw error
      },
    )
    return this.#shared
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
    if (session === this.#common || this.#spares.includes(session)) return
    if (this.#spares.length < SPARES_MAX) this.#spares.push(session)
    else session.end()
  }

  #ping(): void {
    // An answer that does not come ends the session, which tells the holds; there is nobody else to tell.
    for (const [session, holds] of this.#sessions) if (holds.size > 0) session.ping().catch(nothing)
  }
}

function nothing(): void {}

interface HoldParts {
  unlock(): Promise<boolean>
  ended(): void
}

class Hold implements SessionHeld {
  readonly name: string
  readonly #parts: HoldParts
  readonly #lost = new AbortController()
  #state: SessionHeld['state'] = 'held'

  constructor(name: string, parts: HoldParts) {
    this.name = name
    this.#parts = parts
  }

  get signal(): AbortSignal {
    return this.#lost.signal
  }

  get state(): SessionHeld['state'] {
    return this.#state
  }

  assertHeld(): void {
    if (this.#state === 'lost') throw this.#lost.signal.reason
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
    this.#parts.ended()
    this.#lost.abort(
      new LockLostError(`${this.name}: the connection that held it was lost`, { line: this.name, cause }),
    )
  }
}
