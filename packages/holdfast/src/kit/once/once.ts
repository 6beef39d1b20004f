/** A job on a schedule, run once per period across all processes that have it. */
import { checkBoolean, checkFunction, checkKeys, checkWhole, shown } from '../../core/check.ts'
import type { Core } from '../../core/core.ts'
import { diagnostics } from '../../core/diagnostics.ts'
import { UsageError } from '../../core/errors.ts'
import type { LockOptions, LockSettings } from '../../core/options.ts'
import type { Cancel } from '../../core/runtime.ts'
import type { Closers } from '../closers.ts'
import { Cron } from './cron.ts'
import { Job, type JobRun, type JobWork } from './job.ts'

export interface OnceOptions extends LockOptions {
  /** The period. It begins at whole multiples of itself since 1970. 1 000 to 31 622 400 000. Either this or `cron`. */
  readonly everyMs?: number
  /** Five fields as in a crontab, in UTC. */
  readonly cron?: string
  readonly run: (work: JobWork) => unknown
  /** Run a period again whose process died in the middle. Default false: at most once. */
  readonly rerun?: boolean
  /** Told what the work, or the store, threw. Default: diagnostics only. */
  readonly onError?: (error: unknown) => void
}

/** A scheduled job. It keeps the process alive until it is stopped. */
export interface Once extends AsyncDisposable {
  readonly name: string
  /** When it is due next, in milliseconds since 1970. */
  readonly nextMs: number
  lastRun(): Promise<JobRun | null>
  /** Takes it off the schedule, and waits for a run of this process that is under way. */
  stop(): Promise<void>
}

const EVERY_MS_MAX = 366 * 86_400_000
/** The wall clock may be set: it is looked at this often. */
const LOOK_MS = 60_000

/** The beginning of the period that `ms` is in. */
export function periodOf(everyMs: number, ms: number): number {
  return Math.floor(ms / everyMs) * everyMs
}

export function checkEvery(everyMs: unknown): number {
  return checkWhole('everyMs', everyMs, 1_000, EVERY_MS_MAX)
}

const KEYS: readonly string[] = ['everyMs', 'cron', 'run', 'rerun', 'onError']

/** What is the job's own, and what is its lock's. */
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
  readonly #onClose = (): Promise<void> => this.stop()
  #nextMs: number
  #cancel: Cancel | null = null
  #running: Promise<void> | null = null
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
    await this.#running
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
    if (nowMs < this.#nextMs) {
      this.#arm()
      return
    }
    const periodMs = this.#nextMs
    this.#nextMs = this.#next(nowMs)
    // A run that takes longer than its period: those that begin meanwhile are passed over, here and everywhere.
    if (this.#running === null) {
      this.#running = this.#run(periodMs).finally(() => {
        this.#running = null
      })
    }
    this.#arm()
  }

  /** Never rejects: nobody awaits it. */
  async #run(periodMs: number): Promise<void> {
    const { run, rerun = false, onError } = this.#options
    try {
      await this.#job.attempt(periodMs, rerun, run)
    } catch (error) {
      diagnostics.failed(this.name, error)
      try {
        onError?.(error)
      } catch (thrown) {
        diagnostics.failed(this.name, thrown)
      }
    }
  }
}

function checkOnce(options: OnceOptions): OnceOptions {
  const { everyMs, cron, run, rerun, onError } = checkKeys('the options of once', options, KEYS)
  checkFunction('run', run)
  if (rerun !== undefined) checkBoolean('rerun', rerun)
  if (onError !== undefined) checkFunction('onError', onError)
  if ((everyMs === undefined) === (cron === undefined)) {
    throw new UsageError('once needs either everyMs or cron, and not both')
  }
  return options
}

function schedule({ everyMs, cron }: OnceOptions): (ms: number) => number {
  if (cron === undefined) {
    const every = checkEvery(everyMs)
    return (ms) => periodOf(every, ms) + every
  }
  const parsed = new Cron(cron)
  return (ms) => parsed.next(ms) as number
}
