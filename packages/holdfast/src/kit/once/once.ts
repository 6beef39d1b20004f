/** A job on a schedule. Of all processes that have the job, one runs it in each period. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { checkBoolean, checkFunction, checkKeys, checkWhole, shown } from '../../contract/check.ts'
import type { Core } from '../../acquire/core.ts'
import { diagnostics } from '../../contract/events.ts'
import { LockLostError, UsageError } from '../../contract/errors.ts'
import type { LockOptions, LockSettings } from '../../contract/options.ts'
import type { Cancel } from '../../contract/runtime.ts'
import { isTransient } from '../../contract/transient.ts'
import type { Closers } from '../closers.ts'
import { pause } from '../pause.ts'
import { Cron } from './cron.ts'
import { Job, type JobRun, type JobWork } from './job.ts'

/** Options of `once`: what runs, and when. */
export interface OnceOptions extends LockOptions {
  /** The period. It begins at whole multiples of itself since 1970. 1 000 to 31 622 400 000. Either this or `cron`. */
  readonly everyMs?: number
  /** Five fields of a crontab, or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`. Either this or `everyMs`. */
  readonly cron?: string
  /**
   * The time zone of `cron`, such as 'Europe/Berlin'. Default 'UTC'. A time that the clock shows twice counts the first
   * time only, unless the hour is `*` or a step of it. A time that the clock skips runs later, by as much as the clock
   * is put forward.
   */
  readonly timeZone?: string
  /** The work. The run ends when its promise settles. */
  readonly run: (work: JobWork) => unknown
  /** If a process died in the middle of a period, run that period again. Default false: at most once. */
  readonly rerun?: boolean
  /** Called with errors of the work and of the store, and if a clock is wrong. Default: diagnostics only. */
  readonly onError?: (error: unknown) => void
}

/** A scheduled job. It keeps the process alive until you stop it. */
export interface Once extends AsyncDisposable {
  readonly name: string
  /** When the job is due next, in milliseconds since 1970. */
  readonly nextMs: number
  /** The last run, by whichever process; null: none yet. */
  lastRun(): Promise<JobRun | null>
  /**
   * Takes the job off the schedule, and waits for a run of this process that is under way, unless that run itself calls
   * `stop`.
   */
  stop(): Promise<void>
}

const EVERY_MS_MAX = 366 * 86_400_000
/** Somebody may set the wall clock, so look at it this often. */
const LOOK_MS = 60_000
/**
 * How long to wait before asking the store again after a failure; each further wait is twice as long, up to the limit.
 */
const RETRY_MS_MIN = 100
const RETRY_MS_MAX = 10_000

const STOPPED = new Error('the job was stopped')

/** The job that the caller runs inside of: a job that stops itself must not wait for its own end. */
const inside = new AsyncLocalStorage<ScheduledOnce>()

/** The beginning of the period that contains `ms`. */
export function periodOf(everyMs: number, ms: number): number {
  return Math.floor(ms / everyMs) * everyMs
}

export function checkEvery(everyMs: unknown): number {
  return checkWhole('everyMs', everyMs, 1_000, EVERY_MS_MAX)
}

const KEYS: readonly string[] = ['everyMs', 'cron', 'timeZone', 'run', 'rerun', 'onError']

/** Splits the options into those of the job and those of its lock. */
export function splitOnce(options: OnceOptions): { readonly own: OnceOptions; readonly lock: LockOptions } {
  if (typeof options !== 'object' || options === null) {
    throw new UsageError(`once needs options with at least run, and everyMs or cron, given ${shown(options)}`)
  }
  const entries = Object.entries(options)
  return {
    own: Object.fromEntries(entries.filter(([key]) => KEYS.includes(key))) as unknown as OnceOptions,
    lock: Object.fromEntries(entries.filter(([key]) => !KEYS.includes(key))),
  }
}

export class ScheduledOnce implements Once {
  readonly name: string
  readonly #core: Core
  readonly #closers: Closers
  readonly #job: Job
  readonly #options: OnceOptions
  readonly #next: (ms: number) => number
  /** Aborts the wait for others when the job is stopped. */
  readonly #stop = new AbortController()
  readonly #onClose = (): Promise<void> => this.stop()
  #nextMs: number
  #cancel: Cancel | null = null
  #running: Promise<void> | null = null
  #isAtWork = false
  /** A period that began while this process was still trying to run the one before. */
  #dueMs: number | null = null
  #stopped = false

  constructor(core: Core, name: string, options: OnceOptions, settings: LockSettings, closers: Closers) {
    this.name = name
    this.#core = core
    this.#closers = closers
    this.#options = checkOnce(options)
    this.#next = schedule(options)
    this.#job = new Job(core, name, settings)
    this.#nextMs = this.#next(core.runtime.wallNow())
    closers.add(this.#onClose)
    this.#arm()
  }

  get nextMs(): number {
    return this.#nextMs
  }

  lastRun(): Promise<JobRun | null> {
    return this.#job.lastRun()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel?.()
    this.#closers.delete(this.#onClose)
    this.#stop.abort(STOPPED)
    if (inside.getStore() !== this) await this.#running
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  #arm(): void {
    if (this.#stopped) return
    const { runtime } = this.#core
    const ms = Math.min(LOOK_MS, Math.max(1, this.#nextMs - runtime.wallNow()))
    this.#cancel = runtime.after(ms, () => this.#look(), true)
  }

  #look(): void {
    const nowMs = this.#core.runtime.wallNow()
    const nextMs = this.#next(nowMs)
    // The clock was put back, so the time that we waited for is far off now.
    if (nextMs < this.#nextMs && nowMs < this.#nextMs) this.#nextMs = nextMs
    if (nowMs < this.#nextMs) {
      this.#arm()
      return
    }
    const dueMs = this.#nextMs
    this.#nextMs = nextMs
    if (this.#running === null) this.#begin(dueMs)
    // The store has not answered, or was slow, since the period before: that must not cost this period, too.
    else if (!this.#isAtWork) this.#dueMs = dueMs
    // Otherwise the work takes longer than its period, and periods that begin meanwhile are skipped.
    this.#arm()
  }

  #begin(dueMs: number): void {
    this.#running = this.#run(dueMs).finally(() => {
      const dueMs = this.#dueMs
      this.#running = null
      this.#dueMs = null
      const isDue = dueMs !== null && this.#next(dueMs) > this.#core.runtime.wallNow()
      if (isDue && !this.#stopped) this.#begin(dueMs)
    })
  }

  /**
   * Tries until any process has run the period, or until the period is over. Never rejects, because nobody awaits it.
   */
  async #run(dueMs: number): Promise<void> {
    const { runtime } = this.#core
    const untilMs = this.#next(dueMs)
    const endsAt = runtime.now() + Math.max(0, untilMs - runtime.wallNow())
    const id = runtime.randomId()
    let retryMs = RETRY_MS_MIN
    let began = false
    let told: string | null = null
    const work = async (given: JobWork): Promise<void> => {
      began = true
      this.#isAtWork = true
      try {
        await inside.run(this, () => this.#options.run(given))
      } finally {
        this.#isAtWork = false
      }
    }
    for (;;) {
      try {
        const waitMs = Math.max(1, endsAt - runtime.now())
        const { rerun = false } = this.#options
        const signal = this.#stop.signal
        await this.#job.attempt(dueMs, { rerun, untilMs, waitMs, signal, id }, work)
        return
      } catch (error) {
        if (this.#stopped && !began) return
        const message = error instanceof Error ? error.message : ''
        if (message !== told) this.#tell(error)
        told = message
        // The lock was lost before the work began: nothing has been done yet.
        if (began || !(isTransient(error) || error instanceof LockLostError)) return
      }
      // An outage at the tick must not cost the period.
      if (runtime.now() + retryMs >= endsAt) return
      try {
        await pause(runtime, retryMs * (0.5 + runtime.random()), this.#stop.signal)
      } catch (error) {
        if (error !== STOPPED) throw error
        return
      }
      retryMs = Math.min(retryMs * 2, RETRY_MS_MAX)
    }
  }

  #tell(error: unknown): void {
    diagnostics.failed(this.name, error)
    try {
      this.#options.onError?.(error)
    } catch (thrown) {
      diagnostics.failed(this.name, thrown)
    }
  }
}

function checkOnce(options: OnceOptions): OnceOptions {
  const { everyMs, cron, timeZone, run, rerun, onError } = checkKeys('the options of once', options, KEYS)
  checkFunction('run', run)
  if (rerun !== undefined) checkBoolean('rerun', rerun)
  if (onError !== undefined) checkFunction('onError', onError)
  if ((everyMs === undefined) === (cron === undefined)) {
    throw new UsageError('once needs either everyMs or cron, and not both')
  }
  if (timeZone !== undefined && cron === undefined) throw new UsageError('timeZone needs cron, and none is given')
  return options
}

function schedule({ everyMs, cron, timeZone }: OnceOptions): (ms: number) => number {
  if (cron === undefined) {
    const every = checkEvery(everyMs)
    return (ms) => periodOf(every, ms) + every
  }
  const parsed = new Cron(cron, timeZone)
  return (ms) => parsed.next(ms) ?? Number.POSITIVE_INFINITY
}
