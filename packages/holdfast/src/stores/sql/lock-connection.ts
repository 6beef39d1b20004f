/**
 * A connection that holds locks of its session, whatever the client library: silence ends it, and its loss is told
 * once.
 */
import { StoreError, StoreUnreachableError } from '../../contract/errors.ts'
import type { LockSession } from './session-locks.ts'
import { Watchdog } from './watchdog.ts'

/** How one client library asks, and is let go. */
export interface LockWire {
  /** In the messages: 'postgres' or 'mysql'. */
  readonly store: string
  /** Answers the first column of the first row, or the library's own error. */
  ask(sql: string, values: readonly string[], answered: (error: unknown, answer?: unknown) => void): void
  /** Whether the process must not end before this connection has answered. */
  hold(isHeld: boolean): void
  /** At once; requests under way may be forgotten. */
  destroy(): void
  toStoreError(error: unknown): Error
}

/** What is said on it; the answer is read by `isYes`. */
export interface LockWords {
  readonly tryLock: string
  readonly lock: string
  readonly unlock: string
  isYes(answer: unknown): boolean
}

export class LockConnection implements LockSession {
  readonly #wire: LockWire
  readonly #words: LockWords
  readonly #watchdog: Watchdog
  readonly #listeners: ((cause: unknown) => void)[] = []
  readonly #owed = new Set<(cause: unknown) => void>()
  #isOpen = true

  constructor(wire: LockWire, words: LockWords, timeoutMs: number) {
    this.#wire = wire
    this.#words = words
    this.#watchdog = new Watchdog(timeoutMs, () =>
      this.broke(new StoreUnreachableError(`${wire.store} gave no answer within ${timeoutMs} ms`)),
    )
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  get load(): number {
    return this.#watchdog.load
  }

  async tryLock(key: string): Promise<boolean> {
    return this.#words.isYes(await this.ask(this.#words.tryLock, [key]))
  }

  /** Not under the watchdog: it may take for ever. */
  async lock(key: string): Promise<void> {
    this.#wire.hold(true)
    try {
      if (this.#words.isYes(await this.#answer(this.#words.lock, [key]))) return
      throw new StoreError(`${this.#wire.store}: the server gave up on a lock that was to be waited for`)
    } catch (error) {
      throw this.#wire.toStoreError(error)
    } finally {
      this.#wire.hold(false)
    }
  }

  async unlock(key: string): Promise<boolean> {
    return this.#words.isYes(await this.ask(this.#words.unlock, [key]))
  }

  async ping(): Promise<void> {
    await this.ask('SELECT 1')
  }

  onLost(lost: (cause: unknown) => void): void {
    this.#listeners.push(lost)
  }

  end(): void {
    this.broke(new StoreUnreachableError(`${this.#wire.store}: the connection was closed`))
  }

  /** The server lives, though the answer is still owed. */
  heard(): void {
    this.#watchdog.heard()
  }

  async ask(sql: string, values: readonly string[] = []): Promise<unknown> {
    if (this.#watchdog.load === 0) this.#wire.hold(true)
    this.#watchdog.asked()
    try {
      return await this.#answer(sql, values)
    } catch (error) {
      throw this.#wire.toStoreError(error)
    } finally {
      this.#watchdog.answered()
      if (this.#watchdog.load === 0) this.#wire.hold(false)
    }
  }

  /** The connection is no more: by an event of the client library, by silence, or because nobody needs it. */
  broke(cause: unknown): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#watchdog.stop()
    this.#wire.destroy()
    for (const reject of this.#owed) reject(cause)
    for (const lost of this.#listeners) lost(cause)
  }

  /** A library whose connection was destroyed may call nobody back: the loss itself answers then. */
  #answer(sql: string, values: readonly string[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (!this.#isOpen) {
        reject(new StoreUnreachableError(`${this.#wire.store}: the connection was closed`))
        return
      }
      this.#owed.add(reject)
      this.#wire.ask(sql, values, (error, answer) => {
        this.#owed.delete(reject)
        if (error === null) resolve(answer)
        else reject(error as Error)
      })
    })
  }
}
