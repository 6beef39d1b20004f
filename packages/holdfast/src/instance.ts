/** An open instance with its locks, without the kit: what `holdfast/core` returns. */
import { Core } from './acquire/core.ts'
import type { WorkerHeartbeat } from './acquire/heartbeat.ts'
import { shownLine } from './acquire/holders.ts'
import type { Lock } from './acquire/lock.ts'
import { checkBoolean, checkKeys, checkName, checkText } from './contract/check.ts'
import type { Driver, LineView, Traits } from './contract/driver.ts'
import { channels } from './contract/events.ts'
import {
  type HoldfastOptions,
  type InstanceSettings,
  type LockOptions,
  type LockSettings,
  resolveInstance,
} from './contract/options.ts'
import { RecentOptions } from './contract/recent-options.ts'
import { adopt } from './hold/handing-on.ts'
import type { Held } from './hold/held.ts'
import type { Closers } from './kit/closers.ts'
import { type Deadlock, findDeadlocks } from './locks/deadlocks.ts'
import { type Election, type ElectionOptions, LineElection } from './locks/election.ts'
import { LineMultiLock, type MultiLock } from './locks/multi.ts'
import { mutex } from './locks/mutex.ts'
import { type RwLock, rwLock } from './locks/rw-lock.ts'
import { type Semaphore, semaphore } from './locks/semaphore.ts'
import { system } from './system.ts'

/** What every instance makes: locks, and what is built from locks. */
export interface Locks extends AsyncDisposable {
  /** What the store can do. */
  readonly traits: Traits
  /** A lock that one holder has at a time. */
  mutex(name: string, options?: LockOptions): Lock
  /** A lock that has `permits` permits to give out; 1 to 1 000 000. All users of the name must give the same number. */
  semaphore(name: string, permits: number, options?: LockOptions): Semaphore
  /** A lock that many readers or one writer have at a time. */
  rwLock(name: string, options?: LockOptions): RwLock
  /** An election: one leader among many candidates. */
  election(name: string, options?: ElectionOptions): Election
  /** Several locks as one, all or nothing. The locks may belong to several instances. */
  all(locks: readonly Lock[]): MultiLock
  /**
   * Continues a hold that another process has exported with `held.export()`; works once. NotHeldError: the hold is
   * gone.
   */
  adopt(text: string): Promise<Held>
  /** Who holds and who waits, lock by lock; only names that begin with `prefix` (default ''). */
  list(options?: { readonly prefix?: string }): AsyncIterable<LineView>
  /** Waiters of any process that wait for each other in a circle; each circle once. */
  deadlocks(): Promise<Deadlock[]>
  /**
   * Takes the lock from its holders. They can no longer renew, and others get the lock when those leases have run out.
   * With `now` others get the lock at once, so two may act at the same time. Returns how many places were broken.
   */
  break(name: string, options?: { readonly now?: boolean }): Promise<number>
  /** Creates the tables on SQL servers; does nothing elsewhere. */
  setup(): Promise<void>
  /** Gives back all holds and rejects all waiters. A client that you gave stays open. */
  close(): Promise<void>
}

export class Instance implements Locks {
  protected readonly core: Core
  protected readonly settings: InstanceSettings
  protected readonly closers: Closers = new Set()
  readonly #recent: RecentOptions
  #closing: Promise<void> | null = null

  constructor(driver: Driver, options: HoldfastOptions) {
    this.settings = resolveInstance(options, driver.traits)
    this.#recent = new RecentOptions(this.settings.lock, driver.traits)
    const worker = hasWorker(driver) ? driver : null
    this.core = new Core(driver, options.runtime ?? system, this.settings.connectTimeoutMs, worker)
  }

  get traits(): Traits {
    return this.core.driver.traits
  }

  mutex(name: string, options?: LockOptions): Lock {
    return mutex(this.core, checkName('a lock name', name), this.resolve(options))
  }

  semaphore(name: string, permits: number, options?: LockOptions): Semaphore {
    return semaphore(this.core, checkName('a lock name', name), permits, this.resolve(options))
  }

  rwLock(name: string, options?: LockOptions): RwLock {
    return rwLock(this.core, checkName('a lock name', name), this.resolve(options))
  }

  election(name: string, options: ElectionOptions = {}): Election {
    const { value = '', ...rest } = options
    return new LineElection(
      this.core,
      checkName('the name of an election', name),
      this.resolve(rest),
      checkText('value', value, 512),
    )
  }

  all(locks: readonly Lock[]): MultiLock {
    this.core.assertOpen()
    return new LineMultiLock(locks)
  }

  async adopt(text: string): Promise<Held> {
    this.core.assertOpen()
    return adopt(this.core, text, this.settings.lock)
  }

  async *list(options?: { readonly prefix?: string }): AsyncGenerator<LineView> {
    const { prefix = '' } = checkKeys('list options', options, ['prefix'])
    this.core.assertOpen()
    for await (const line of this.core.driver.list(checkText('prefix', prefix, 512))) {
      yield shownLine(line)
    }
  }

  async deadlocks(): Promise<Deadlock[]> {
    this.core.assertOpen()
    return findDeadlocks(this.core)
  }

  async break(name: string, options?: { readonly now?: boolean }): Promise<number> {
    const { now: given = false } = checkKeys('break options', options, ['now'])
    const now = checkBoolean('now', given)
    checkName('a lock name', name)
    this.core.assertOpen()
    const holders = await this.core.driver.break(name, now)
    if (channels.broken.hasSubscribers) channels.broken.publish({ ...this.core.source, lock: name, now, holders })
    return holders
  }

  async setup(): Promise<void> {
    this.core.assertOpen()
    await this.core.driver.setup?.()
  }

  close(): Promise<void> {
    if (this.#closing === null) this.#closing = this.closers.size === 0 ? this.core.close() : this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    // First close what still needs the store. Whether that succeeds or fails, the rest must be closed as well.
    await Promise.allSettled([...this.closers].map(async (close) => close()))
    await this.core.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  protected resolve(options: LockOptions | undefined): LockSettings {
    this.core.assertOpen()
    return this.#recent.resolve(options)
  }
}

/** Whether the driver runs in a worker thread, which then also renews. */
function hasWorker(driver: Driver): driver is Driver & WorkerHeartbeat {
  return 'latest' in driver && 'fix' in driver
}
