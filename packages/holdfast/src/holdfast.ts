/** An open instance: the locks of one store, and the kit. */
import { checkName } from './contract/check.ts'
import type { Driver } from './contract/driver.ts'
import { UsageError } from './contract/errors.ts'
import type { HoldfastOptions, LockOptions } from './contract/options.ts'
import { checkHealth, type Health, type HealthOptions } from './health.ts'
import { History, type HistoryEntry } from './history/history.ts'
import { Reporting } from './history/report.ts'
import { Instance, type Locks } from './instance.ts'
import { type Barrier, StoreBarrier } from './kit/barrier.ts'
import { type Cell, StoreCell } from './kit/cell.ts'
import { type Ids, StoreIds } from './kit/ids/ids.ts'
import { type IdsOptions, resolveLayout } from './kit/ids/layout.ts'
import { type Limiter, StoreLimiter } from './kit/limiter/limiter.ts'
import { type LimiterOptions, resolveLimiter } from './kit/limiter/options.ts'
import { type Latch, StoreLatch } from './kit/latch.ts'
import { Job, JOBS_KEY, type JobRun, runsIn } from './kit/once/job.ts'
import { type Once, type OnceOptions, ScheduledOnce, splitOnce } from './kit/once/once.ts'
import { type Segments, type SegmentsOptions, StoreSegments } from './kit/segments.ts'

/** An instance: everything that one store can do for this process. */
export interface Holdfast extends Locks {
  /** A job on a schedule. Each period it runs once, in the process that comes first. */
  once(name: string, options: OnceOptions): Once
  /** The same job without a schedule: for code that something else calls at the right time, and to see the last run. */
  job(name: string, options?: LockOptions): Job
  /** The last run of every job. */
  jobs(): Promise<Readonly<Record<string, JobRun>>>
  /**
   * A latch that opens once `count` parties have counted down; 1 to 1 000 000. All users of the name must give the same
   * number.
   */
  latch(name: string, count: number, options?: LockOptions): Latch
  /**
   * A barrier where `parties` wait for each other, again and again; 1 to 1 000. All users of the name must give the
   * same number.
   */
  barrier(name: string, parties: number, options?: LockOptions): Barrier
  /** A small shared value with a version. */
  cell<T>(key: string): Cell<T>
  /** A rate limit: so many calls in so much time, counted for each key. */
  limiter(name: string, options: LimiterOptions): Limiter
  /** 64-bit ids in the order of time. They never repeat, and this process makes them without asking the store. */
  ids(options?: IdsOptions): Ids
  /** Increasing numbers. This process takes them from the store a range at a time. */
  segments(name: string, options?: SegmentsOptions): Segments
  /**
   * What this process saw happen to a lock, or to all locks of this instance, the oldest first. UsageError without
   * `history` in the options.
   */
  history(name?: string): HistoryEntry[]
  /**
   * Whether this process can take and keep locks now, for readiness probes. Settles within `timeoutMs` (default 1 000).
   */
  health(options?: HealthOptions): Promise<Health>
}

/** The kit adds its own prefixes and suffixes to these names, so they must be shorter than the name of a line. */
const KIT_NAME_BYTES = 200

class KitInstance extends Instance implements Holdfast {
  readonly #history: History | null
  readonly #reporting: Reporting | null

  constructor(driver: Driver, options: HoldfastOptions) {
    super(driver, options)
    const { core, settings } = this
    this.#history = settings.history === 0 ? null : new History(core.runtime, core.source, settings.history)
    if (this.#history !== null) core.onClosed(() => this.#history?.close())
    this.#reporting = settings.report ? new Reporting(core, settings.lock.label) : null
    if (this.#reporting !== null) core.onClosed(() => this.#reporting?.close())
  }

  once(name: string, options: OnceOptions): Once {
    const { lock, own } = splitOnce(options)
    return new ScheduledOnce(this.core, checkName('the name of a job', name), own, this.resolve(lock), this.closers)
  }

  job(name: string, options?: LockOptions): Job {
    return new Job(this.core, checkName('the name of a job', name), this.resolve(options))
  }

  async jobs(): Promise<Readonly<Record<string, JobRun>>> {
    return runsIn((await this.cell<Record<string, JobRun>>(JOBS_KEY).read()).value)
  }

  latch(name: string, count: number, options?: LockOptions): Latch {
    return new StoreLatch(this.core, checkName('the name of a latch', name), count, this.resolve(options))
  }

  barrier(name: string, parties: number, options?: LockOptions): Barrier {
    return new StoreBarrier(this.core, checkName('the name of a barrier', name), parties, this.resolve(options))
  }

  cell<T>(key: string): Cell<T> {
    return new StoreCell(this.core, checkName('a cell key', key))
  }

  limiter(name: string, options: LimiterOptions): Limiter {
    const settings = resolveLimiter(options)
    checkName('the name of a limiter', name, KIT_NAME_BYTES)
    this.core.assertOpen()
    const count = this.#reporting?.limiters.of(name, settings) ?? null
    return new StoreLimiter(this.core, name, settings, this.closers, count)
  }

  ids(options?: IdsOptions): Ids {
    const layout = resolveLayout(options, this.core.runtime.wallNow())
    const name = checkName('the name of ids', options?.name ?? 'ids', KIT_NAME_BYTES)
    const ttl = options?.ttlMs === undefined ? {} : { ttlMs: options.ttlMs }
    const settings = this.resolve({ ...ttl, reentrant: false })
    return new StoreIds(this.core, name, settings, layout, this.closers)
  }

  segments(name: string, options?: SegmentsOptions): Segments {
    checkName('the name of segments', name, KIT_NAME_BYTES)
    this.core.assertOpen()
    return new StoreSegments(this.core, name, options, this.closers)
  }

  history(name?: string): HistoryEntry[] {
    if (this.#history === null)
      throw new UsageError('this instance keeps no history: open it with holdfast(store, { history: true })')
    return this.#history.read(name === undefined ? null : checkName('a lock name', name))
  }

  health(options?: HealthOptions): Promise<Health> {
    return checkHealth(this.core, options)
  }
}

export function makeInstance(driver: Driver, options: HoldfastOptions): Holdfast {
  return new KitInstance(driver, options)
}
