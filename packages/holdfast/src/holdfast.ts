/** An open instance: the locks of one store. */
import { checkBoolean, checkKeys, checkName, checkText } from './contract/check.ts'
import { Core } from './acquire/core.ts'
import { channels } from './contract/events.ts'
import { adopt } from './hold/handing-on.ts'
import type { Held } from './hold/held.ts'
import { shownLine } from './acquire/holders.ts'
import type { WorkerHeartbeat } from './acquire/heartbeat.ts'
import type { Lock } from './acquire/lock.ts'
import {
  type HoldfastOptions,
  type InstanceSettings,
  type LockOptions,
  type LockSettings,
  resolveInstance,
  resolveLock,
} from './contract/options.ts'
import type { Driver, LineView, Traits } from './contract/driver.ts'
import { History, type HistoryEntry } from './history/history.ts'
import { Reporting } from './history/report.ts'
import { UsageError } from './contract/errors.ts'
import { checkHealth, type Health, type HealthOptions } from './health.ts'
import { type Barrier, StoreBarrier } from './kit/barrier.ts'
import { type Cell, StoreCell } from './kit/cell.ts'
import { type Deadlock, findDeadlocks } from './locks/deadlocks.ts'
import { type Election, type ElectionOptions, LineElection } from './locks/election.ts'
import type { Closers } from './kit/closers.ts'
import { type Ids, StoreIds } from './kit/ids/ids.ts'
import { type IdsOptions, resolveLayout } from './kit/ids/layout.ts'
import { type Limiter, StoreLimiter } from './kit/limiter/limiter.ts'
import { type LimiterOptions, resolveLimiter } from './kit/limiter/options.ts'
import { type Latch, StoreLatch } from './kit/latch.ts'
import { LineMultiLock, type MultiLock } from './locks/multi.ts'
import { mutex } from './locks/mutex.ts'
import { Job, JOBS_KEY, type JobRun } from './kit/once/job.ts'
import { type Once, type OnceOptions, ScheduledOnce, splitOnce } from './kit/once/once.ts'
import { type RwLock, rwLock } from './locks/rw-lock.ts'
import { type Segments, type SegmentsOptions, StoreSegments } from './kit/segments.ts'
import { type Semaphore, semaphore } from './locks/semaphore.ts'
import { system } from './system.ts'

export interface Holdfast extends AsyncDisposable {
  /** What the store can carry. */
  readonly traits: Traits
  /** One holder at a time. */
  mutex(name: string, options?: LockOptions): Lock
  /** Up to `permits` at a time; 1 to 1 000 000. All users of the name must agree on the number. */
  semaphore(name: string, permits: number, options?: LockOptions): Semaphore
  /** Many readers or one writer. */
  rwLock(name: string, options?: LockOptions): RwLock
  /** One leader among many candidates. */
  election(name: string, options?: ElectionOptions): Election
  /** Several locks as one, all or nothing; also of several instances. */
  all(locks: readonly Lock[]): MultiLock
  /** A job on a schedule that runs once per period, whichever process comes first. */
  once(name: string, options: OnceOptions): Once
  /** The same job without a schedule: for whoever is called at the right time, and to see its last run. */
  job(name: string, options?: LockOptions): Job
  /** The last run of every job. */
  jobs(): Promise<Readonly<Record<string, JobRun>>>
  /** Opens once `count` have counted down; 1 to 1 000 000. All users of the name must agree on the number. */
  latch(name: string, count: number, options?: LockOptions): Latch
  /** Lets `parties` go on together, again and again; 1 to 1 000. All users of the name must agree on the number. */
  barrier(name: string, parties: number, options?: LockOptions): Barrier
  /** Goes on with a hold that another process has handed on (`held.export()`); works once. NotHeldError: it is gone. */
  adopt(text: string): Promise<Held>
  /** A small shared value with a version. */
  cell<T>(key: string): Cell<T>
  /** So many in so much time, for each key. */
  limiter(name: string, options: LimiterOptions): Limiter
  /** 64-bit ids by time that never repeat, made in this process. */
  ids(options?: IdsOptions): Ids
  /** Increasing numbers, taken from the store a range at a time. */
  segments(name: string, options?: SegmentsOptions): Segments
  /** Who holds and who waits, line by line; only names that begin with `prefix` (default ''). */
  list(options?: { readonly prefix?: string }): AsyncIterable<LineView>
  /** Those who wait for each other in a circle, across processes; each circle once. */
  deadlocks(): Promise<Deadlock[]>
  /**
   * Takes the line from its holders: their leases are renewed no more, and others are served once they have run out.
   * With `now` others are served at once, and two may act at the same time. Answers how many places were broken.
   */
  break(name: string, options?: { readonly now?: boolean }): Promise<number>
  /**
   * What happened to a lock, or to all of this instance, as this process saw it, the oldest first. UsageError without
   * `history` in the options.
   */
  history(name?: string): HistoryEntry[]
  /** Whether locks can be had and kept now, for readiness probes. Settles within `timeoutMs` (default 1 000). */
  health(options?: HealthOptions): Promise<Health>
  /** Makes the schema on SQL servers; does nothing elsewhere. */
  setup(): Promise<void>
  /** Gives back all holds and rejects all waiters. A client it was given stays open. */
  close(): Promise<void>
}

/** The kit makes names of its own from these: shorter than a line's. */
const KIT_NAME_BYTES = 200

class Instance implements Holdfast {
  readonly #core: Core
  readonly #settings: LockSettings
  readonly #closers: Closers = new Set()
  readonly #history: History | null
  #closing: Promise<void> | null = null

  constructor(core: Core, { lock, history, report }: InstanceSettings) {
    this.#core = core
    this.#settings = lock
    this.#history = history === 0 ? null : new History(core.runtime, core.source, history)
    if (this.#history !== null) core.onClosed(() => this.#history?.close())
    if (report) {
      const reporting = new Reporting(core, lock.label)
      core.onClosed(() => reporting.close())
    }
  }

  get traits(): Traits {
    return this.#core.driver.traits
  }

  mutex(name: string, options?: LockOptions): Lock {
    return mutex(this.#core, checkName('a lock name', name), this.#resolve(options))
  }

  semaphore(name: string, permits: number, options?: LockOptions): Semaphore {
    return semaphore(this.#core, checkName('a lock name', name), permits, this.#resolve(options))
  }

  rwLock(name: string, options?: LockOptions): RwLock {
    return rwLock(this.#core, checkName('a lock name', name), this.#resolve(options))
  }

  election(name: string, options: ElectionOptions = {}): Election {
    const { value = '', ...rest } = options
    return new LineElection(
      this.#core,
      checkName('the name of an election', name),
      this.#resolve(rest),
      checkText('value', value, 512),
    )
  }

  all(locks: readonly Lock[]): MultiLock {
    this.#core.assertOpen()
    return new LineMultiLock(locks)
  }

  once(name: string, options: OnceOptions): Once {
    const { lock, own } = splitOnce(options)
    return new ScheduledOnce(this.#core, checkName('the name of a job', name), own, this.#resolve(lock), this.#closers)
  }

  job(name: string, options?: LockOptions): Job {
    return new Job(this.#core, checkName('the name of a job', name), this.#resolve(options))
  }

  async jobs(): Promise<Readonly<Record<string, JobRun>>> {
    return (await this.cell<Record<string, JobRun>>(JOBS_KEY).read()).value ?? {}
  }

  latch(name: string, count: number, options?: LockOptions): Latch {
    return new StoreLatch(this.#core, checkName('the name of a latch', name), count, this.#resolve(options))
  }

  barrier(name: string, parties: number, options?: LockOptions): Barrier {
    return new StoreBarrier(this.#core, checkName('the name of a barrier', name), parties, this.#resolve(options))
  }

  async adopt(text: string): Promise<Held> {
    this.#core.assertOpen()
    return adopt(this.#core, text, this.#settings)
  }

  cell<T>(key: string): Cell<T> {
    return new StoreCell(this.#core, checkName('a cell key', key))
  }

  limiter(name: string, options: LimiterOptions): Limiter {
    const settings = resolveLimiter(options)
    checkName('the name of a limiter', name, KIT_NAME_BYTES)
    this.#core.assertOpen()
    return new StoreLimiter(this.#core, name, settings, this.#closers)
  }

  ids(options?: IdsOptions): Ids {
    const layout = resolveLayout(options, this.#core.runtime.wallNow())
    const name = checkName('the name of ids', options?.name ?? 'ids', KIT_NAME_BYTES)
    const ttl = options?.ttlMs === undefined ? {} : { ttlMs: options.ttlMs }
    const settings = this.#resolve({ ...ttl, reentrant: false })
    return new StoreIds(this.#core, name, settings, layout, this.#closers)
  }

  segments(name: string, options?: SegmentsOptions): Segments {
    checkName('the name of segments', name, KIT_NAME_BYTES)
    this.#core.assertOpen()
    return new StoreSegments(this.#core, name, options, this.#closers)
  }

  async *list(options?: { readonly prefix?: string }): AsyncGenerator<LineView> {
    const { prefix = '' } = checkKeys('list options', options, ['prefix'])
    this.#core.assertOpen()
    for await (const line of this.#core.driver.list(checkText('prefix', prefix, 512))) {
      yield shownLine(line)
    }
  }

  async deadlocks(): Promise<Deadlock[]> {
    this.#core.assertOpen()
    return findDeadlocks(this.#core)
  }

  async break(name: string, options?: { readonly now?: boolean }): Promise<number> {
    const { now: given = false } = checkKeys('break options', options, ['now'])
    const now = checkBoolean('now', given)
    checkName('a lock name', name)
    this.#core.assertOpen()
    const holders = await this.#core.driver.break(name, now)
    if (channels.broken.hasSubscribers) channels.broken.publish({ ...this.#core.source, lock: name, now, holders })
    return holders
  }

  history(name?: string): HistoryEntry[] {
    if (this.#history === null)
      throw new UsageError('nothing is remembered: open it with holdfast(store, { history: true })')
    return this.#history.read(name === undefined ? null : checkName('a lock name', name))
  }

  health(options?: HealthOptions): Promise<Health> {
    return checkHealth(this.#core, options)
  }

  async setup(): Promise<void> {
    this.#core.assertOpen()
    await this.#core.driver.setup?.()
  }

  close(): Promise<void> {
    if (this.#closing === null) this.#closing = this.#closers.size === 0 ? this.#core.close() : this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    // First, what needs the store once more; whatever comes of that, the rest is closed as well.
    await Promise.allSettled([...this.#closers].map(async (close) => close()))
    await this.#core.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #resolve(options: LockOptions | undefined): LockSettings {
    this.#core.assertOpen()
    return resolveLock(options, this.#settings, this.#core.driver.traits)
  }
}

export function makeInstance(driver: Driver, options: HoldfastOptions): Holdfast {
  const settings = resolveInstance(options, driver.traits)
  const core = new Core(driver, options.runtime ?? system, settings.connectTimeoutMs, hasWorker(driver) ? driver : null)
  return new Instance(core, settings)
}

/** Whether the driver lives in a thread of its own, and renews there. */
function hasWorker(driver: Driver): driver is Driver & WorkerHeartbeat {
  return 'latest' in driver && 'fix' in driver
}
