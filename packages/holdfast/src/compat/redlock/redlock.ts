/** The class of redlock 5 on Holdfast: one client is a single Redis, several are a Redlock of independent servers. */
import { EventEmitter } from 'node:events'
import { checkFunction, shown } from '../../contract/check.ts'
import { AcquireTimeoutError, UsageError } from '../../contract/errors.ts'
import type { Driver } from '../../contract/driver.ts'
import { type Holdfast, makeInstance } from '../../holdfast.ts'
import type { MultiHeld, MultiLock } from '../../locks/multi.ts'
import { redis, setNx } from '../../stores/redis/index.ts'
import type { RedisClient } from '../../stores/redis/transport-to.ts'
import { redlock as redlockStore } from '../../stores/redlock/index.ts'
import { system } from '../../system.ts'
import { attemptOf, ExecutionError, type ExecutionResult, ResourceLockedError } from './errors.ts'
import { Lock } from './lock.ts'
import { expirationOf, resolveSettings, type RedlockSettings, waitMsOf } from './settings.ts'

/** Aborts when the lock is lost; `error` says why. */
export type RedlockAbortSignal = AbortSignal & { error?: Error }

type Routine<T> = (signal: RedlockAbortSignal) => T | PromiseLike<T>

const NO_QUORUM = 'The operation was unable to achieve a quorum during its retry window.'
/** How much longer a duration must be than `automaticExtensionThreshold`. */
const THRESHOLD_MS = 100

/** The class of redlock 5, on Holdfast. */
export class Redlock extends EventEmitter {
  /** The given clients. */
  readonly clients: Set<RedisClient>
  /** The settings, with their defaults. */
  readonly settings: RedlockSettings
  readonly #hf: Holdfast

  /**
   * @param clients one for each independent server: clients of ioredis, or of node-redis.
   */
  constructor(clients: Iterable<RedisClient>, settings: Partial<RedlockSettings> = {}, scripts?: undefined) {
    super()
    this.clients = new Set(clients)
    this.settings = resolveSettings(settings)
    if (this.clients.size === 0) throw new Error('Redlock must be instantiated with at least one redis client.')
    if (scripts !== undefined) {
      throw new UsageError('Holdfast runs its own scripts, not yours: leave the third argument out')
    }
    this.#hf = makeInstance(storeOf([...this.clients], this.settings), {})
  }

  /** Takes all resources for `duration` ms, or none. Rejects with an ExecutionError. */
  async acquire(resources: string[], duration: number, settings?: Partial<RedlockSettings>): Promise<Lock> {
    const own = resolveSettings(settings, this.settings)
    const start = system.wallNow()
    const held = await this.#take(resources, duration, own, false)
    return this.#lock(resources, system.randomId(), expirationOf(start, duration, own), held)
  }

  /** Releases the lock. Rejects with an ExecutionError if the lock was no longer held. */
  async release(lock: Lock, settings?: Partial<RedlockSettings>): Promise<ExecutionResult> {
    resolveSettings(settings, this.settings)
    lock.expiration = 0
    const before = lock.held.holds.every(({ state }) => state === 'released')
    if (!before && (await lock.held.release())) return { attempts: [attemptOf(this.clients, null)] }
    throw this.#failed(new ResourceLockedError(before ? 'released before' : 'the lock was lost before it was released'))
  }

  /**
   * Makes a lock last `duration` ms from now. On several servers a lock can't last longer than it was first taken for.
   */
  async extend(existing: Lock, duration: number, settings?: Partial<RedlockSettings>): Promise<Lock> {
    const own = resolveSettings(settings, this.settings)
    checkDuration(duration)
    const start = system.wallNow()
    if (existing.expiration < start) throw new ExecutionError('Cannot extend an already-expired lock.', [])
    try {
      await Promise.all(existing.held.holds.map((held) => held.extend(this.#ttlMs(duration))))
    } catch (error) {
      throw this.#failed(error)
    }
    existing.expiration = 0
    return this.#lock(existing.resources, existing.value, expirationOf(start, duration, own), existing.held)
  }

  /** Runs a routine while the lock is held and renewed. */
  async using<T>(
    resources: string[],
    duration: number,
    given: Partial<RedlockSettings> | Routine<T>,
    work?: Routine<T>,
  ): Promise<T> {
    const own = resolveSettings(typeof given === 'function' ? undefined : given, this.settings)
    const routine = checkFunction(
      'the routine given to using',
      (typeof given === 'function' ? given : work) as Routine<T>,
    )
    if (own.automaticExtensionThreshold > duration - THRESHOLD_MS) {
      throw new Error(
        'A lock `duration` must be at least 100ms greater than the `automaticExtensionThreshold` setting.',
      )
    }
    const held = await this.#take(resources, duration, own, true)
    const controller = new AbortController()
    const signal: RedlockAbortSignal = controller.signal
    const onLost = (): void => {
      signal.error = this.#failed(held.signal.reason)
      controller.abort(signal.error)
    }
    held.signal.addEventListener('abort', onLost, { once: true })
    let result: T
    try {
      result = await routine(signal)
    } catch (error) {
      await held.release()
      throw error
    }
    if (await held.release()) return result
    throw signal.error ?? this.#failed(held.signal.reason)
  }

  /** Gives back all locks, and calls `quit()` of every client. */
  async quit(): Promise<void> {
    await this.#hf.close()
    await Promise.all([...this.clients].map(async (client) => (client as { quit?(): Promise<unknown> }).quit?.()))
  }

  async #take(resources: string[], duration: number, own: RedlockSettings, renew: boolean): Promise<MultiHeld> {
    checkDuration(duration)
    if (resources.length === 0)
      throw new UsageError('resources must be a list of names with at least one in it, given []')
    const locks = [...new Set(resources)].map((name) =>
      this.#hf.mutex(name, { ttlMs: this.#ttlMs(duration), renew, reentrant: false }),
    )
    const all: MultiLock = this.#hf.all(locks)
    try {
      return await all.acquire({ waitMs: waitMsOf(own) })
    } catch (error) {
      if (error instanceof UsageError) throw error
      const isHeld = error instanceof AcquireTimeoutError
      throw this.#failed(isHeld ? new ResourceLockedError(error.message, { cause: error }) : error)
    }
  }

  #lock(resources: string[], value: string, expiration: number, held: MultiHeld): Lock {
    return new Lock(this, resources, value, [attemptOf(this.clients, null)], expiration, held)
  }

  /** Stores have a shortest lease, so the lease may be longer than asked; `expiration` is still the caller's own. */
  #ttlMs(duration: number): number {
    return Math.max(duration, this.#hf.traits.ttlMsMin)
  }

  /** Emits the error only if anybody listens: an 'error' event without a listener would end the process. */
  #failed(cause: unknown): ExecutionError {
    const error = cause instanceof Error ? cause : new Error(String(cause))
    if (this.listenerCount('error') > 0) this.emit('error', error)
    return new ExecutionError(NO_QUORUM, [attemptOf(this.clients, error)], { cause: error })
  }
}

function storeOf(clients: readonly RedisClient[], { rolling }: RedlockSettings): Driver {
  const [first] = clients as [RedisClient]
  if (clients.length === 1) return rolling ? setNx(first) : redis(first)
  if (rolling) throw new UsageError(`rolling needs exactly one client, given ${clients.length}`)
  return redlockStore(clients)
}

function checkDuration(duration: number): void {
  if (Number.isInteger(duration) && duration > 0) return
  throw new Error(`Duration must be an integer value in milliseconds, given ${shown(duration)}.`)
}
