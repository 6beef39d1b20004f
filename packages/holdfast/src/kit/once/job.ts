/**
 * A job that runs once per period, whoever comes. What decides is a cell with the period that was run last: it is written
 * before the work begins, so that a period is never run twice, also when the process that ran it has died.
 */
import { checkName } from '../../core/check.ts'
import type { Core } from '../../core/core.ts'
import { diagnostics } from '../../core/diagnostics.ts'
import type { Held } from '../../core/held.ts'
import type { LockSettings } from '../../core/options.ts'
import { StoreCell } from '../cell.ts'
import { mutex } from '../mutex.ts'

/** What is known of a run. Times are milliseconds since 1970, by the clock of the process that ran it. */
export interface JobRun {
  /** The beginning of the period it was for. */
  readonly periodMs: number
  readonly startedMs: number
  /** null: it runs, or its process died. */
  readonly endedMs: number | null
  /** null while it runs; false: it failed. */
  readonly ok: boolean | null
  readonly host: string
  readonly pid: number
}

/** What the work is given. */
export interface JobWork {
  readonly held: Held
  readonly periodMs: number
  /** Aborts when the lock under the job is lost. */
  readonly signal: AbortSignal
}

/** Where the last run of every job stands, for people. */
export const JOBS_KEY = 'holdfast/once'
const JOBS_MAX = 300

export class Job {
  readonly name: string
  readonly #core: Core
  readonly #settings: LockSettings
  readonly #cell: StoreCell<JobRun>
  readonly #key: string

  constructor(core: Core, name: string, settings: LockSettings) {
    this.name = name
    this.#core = core
    this.#settings = settings
    this.#key = checkName('the name of a job, with what stands before it,', `${JOBS_KEY}/${name}`)
    this.#cell = new StoreCell(core, this.#key)
  }

  async lastRun(): Promise<JobRun | null> {
    return (await this.#cell.read()).value ?? null
  }

  /** Runs the work if nobody has run it for this period or a later one. False: somebody has, or does. */
  async attempt(periodMs: number, rerun: boolean, work: (work: JobWork) => unknown): Promise<boolean> {
    const held = await mutex(this.#core, this.#key, this.#settings).tryAcquire()
    if (held === null) return false
    try {
      const { value: last, version } = await this.#cell.read()
      // Nobody holds the lock but us: a run of this period without an end belongs to a process that died.
      const isOpen = last === undefined || last.periodMs < periodMs
      const isDead = last?.periodMs === periodMs && last.endedMs === null
      if (!isOpen && !(rerun && isDead)) return false
      const { runtime } = this.#core
      const run: JobRun = {
        periodMs,
        startedMs: runtime.wallNow(),
        endedMs: null,
        ok: null,
        host: runtime.host,
        pid: runtime.pid,
      }
      const written = await this.#cell.write(run, version)
      if (written === null) return false
      await this.#show(run)
      held.assertHeld()
      await this.#run(run, written, held, work)
      return true
    } finally {
      await held.release()
    }
  }

  async #run(run: JobRun, version: bigint, held: Held, work: (work: JobWork) => unknown): Promise<void> {
    let ok = false
    try {
      await work({ held, periodMs: run.periodMs, signal: held.signal })
      ok = true
    } finally {
      const ended: JobRun = { ...run, endedMs: this.#core.runtime.wallNow(), ok }
      try {
        await this.#cell.write(ended, version)
        await this.#show(ended)
      } catch (error) {
        // What the work did stands, and its own error comes through; only the record of its end is missing.
        diagnostics.failed(this.#key, error)
      }
    }
  }

  async #show(run: JobRun): Promise<void> {
    const all = new StoreCell<Record<string, JobRun>>(this.#core, JOBS_KEY)
    try {
      await all.update((jobs = {}) => {
        const latest = Object.entries({ ...jobs, [this.name]: run }).toSorted(
          ([, a], [, b]) => b.startedMs - a.startedMs,
        )
        return Object.fromEntries(latest.slice(0, JOBS_MAX))
      })
    } catch (error) {
      diagnostics.failed(this.#key, error)
    }
  }
}
