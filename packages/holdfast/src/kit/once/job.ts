/**
 * A job that runs once per period, in whichever process comes first. A cell with the last period decides. It is written
 * before the work begins, so no period runs twice, even if the process that ran it has died.
 */
import { checkName } from '../../contract/check.ts'
import type { Core } from '../../acquire/core.ts'
import { diagnostics } from '../../contract/events.ts'
import { AcquireTimeoutError, ClockError } from '../../contract/errors.ts'
import type { Held } from '../../hold/held.ts'
import type { LockSettings } from '../../contract/options.ts'
import { StoreCell } from '../cell.ts'
import { mutex } from '../../locks/mutex.ts'

/** What is known of a run. Times are milliseconds since 1970, by the clock of the process that ran it. */
export interface JobRun {
  /** When the run was due: the beginning of its period. */
  readonly dueMs: number
  /** When the run began, by the wall clock of the process that ran it. */
  readonly startedMs: number
  /** null: the run goes on, or its process died. */
  readonly endedMs: number | null
  /** null while the run goes on; false: it failed. */
  readonly ok: boolean | null
  readonly host: string
  readonly pid: number
}

/** What the work gets. */
export interface JobWork {
  /** The hold under which the job runs. */
  readonly held: Held
  /** When the run was due: the beginning of its period. */
  readonly dueMs: number
  /** Aborts when the lock under the job is lost. */
  readonly signal: AbortSignal
}

/** A run as the store has it, with an id that tells it from a run of another process. */
interface StoredRun extends JobRun {
  readonly id?: string
}

/** The outcome of trying to run a period. */
export type Attempted = 'ran' | 'run by others' | 'busy'

export interface AttemptOptions {
  /** True: if a process died in the middle of this period, run the period again. */
  readonly rerun: boolean
  /** The beginning of the next period. */
  readonly untilMs: number
  /** How long to wait for another process that runs the period, or tries to. 0: not at all. */
  readonly waitMs: number
  readonly signal?: AbortSignal
  /** Names the run. A call with the same id after an outage goes on where it was. */
  readonly id?: string
}

/** The cell that shows people the last run of every job. */
export const JOBS_KEY = 'holdfast/once'
const JOBS_MAX = 300

/** The runs of one job. */
export class Job {
  readonly name: string
  readonly #core: Core
  readonly #settings: LockSettings
  readonly #cell: StoreCell<StoredRun>
  readonly #key: string

  constructor(core: Core, name: string, settings: LockSettings) {
    this.name = name
    this.#core = core
    this.#settings = settings
    this.#key = checkName('the name of a job, with what stands before it,', `${JOBS_KEY}/${name}`)
    this.#cell = new StoreCell(core, this.#key)
  }

  /** The last run, by whichever process; null: none yet. */
  async lastRun(): Promise<JobRun | null> {
    const { value } = await this.#cell.read()
    if (!isRun(value)) return null
    const { id: _id, ...run } = value
    return run
  }

  /** Runs the work if no process has run it for this period or a later one. */
  async attempt(dueMs: number, options: AttemptOptions, work: (work: JobWork) => unknown): Promise<Attempted> {
    const held = await this.#hold(options)
    if (held === null) return 'busy'
    try {
      const { runtime } = this.#core
      const { rerun, untilMs, id = runtime.randomId() } = options
      const { value, version } = await this.#cell.read()
      const last = isRun(value) ? value : undefined
      this.#checkClock(untilMs, last)
      // Nobody but us holds the lock. So a run of this period without an end belongs to a process that died; or it is
      // our own, which was written down, and the answer was lost.
      const isOpen = last === undefined || last.dueMs < dueMs
      const isOurs = last?.dueMs === dueMs && last.id === id
      const isDead = last?.dueMs === dueMs && last.endedMs === null
      if (!isOpen && !isOurs && !(rerun && isDead)) return 'run by others'
      const run: StoredRun = {
        dueMs,
        startedMs: runtime.wallNow(),
        endedMs: null,
        ok: null,
        host: runtime.host,
        pid: runtime.pid,
        id,
      }
      const written = await this.#cell.write(run, version)
      // Somebody has written without the lock: a process that paused past its lease.
      if (written === null) return 'busy'
      await this.#show(run)
      held.assertHeld()
      await this.#run(run, written, held, work)
      return 'ran'
    } finally {
      await held.release()
    }
  }

  /** null: others have the lock, and the time is up. */
  async #hold({ waitMs, signal }: AttemptOptions): Promise<Held | null> {
    const lock = mutex(this.#core, this.#key, this.#settings)
    if (waitMs === 0) return lock.tryAcquire()
    try {
      return await lock.acquire({ waitMs, ...(signal === undefined ? {} : { signal }) })
    } catch (error) {
      if (error instanceof AcquireTimeoutError) return null
      throw error
    }
  }

  /**
   * A host whose clock is a day ahead runs tomorrow's period, and then the job is silent everywhere until tomorrow. We
   * can't know which of the two clocks is wrong. If ours is, running would mean running twice. So report an error
   * instead.
   */
  #checkClock(untilMs: number, last: JobRun | undefined): void {
    if (last === undefined || last.dueMs <= untilMs) return
    const aheadMs = last.dueMs - this.#core.runtime.wallNow()
    const seconds = Math.ceil(aheadMs / 1_000)
    throw new ClockError(
      `job ${JSON.stringify(this.name)} is not run: ${last.host} (pid ${last.pid}) has run a period that begins ` +
        `in ${seconds} s by the clock of this host. Set the clock that is wrong; to run the job before then, ` +
        `remove the cell ${JSON.stringify(this.#key)}`,
      { line: this.#key },
    )
  }

  async #run(run: StoredRun, version: bigint, held: Held, work: (work: JobWork) => unknown): Promise<void> {
    let ok = false
    try {
      await work({ held, dueMs: run.dueMs, signal: held.signal })
      ok = true
    } finally {
      const ended: StoredRun = { ...run, endedMs: this.#core.runtime.wallNow(), ok }
      try {
        await this.#cell.write(ended, version)
        await this.#show(ended)
      } catch (error) {
        // The work has been done, and its own error reaches the caller; only the record of its end is missing.
        diagnostics.failed(this.#key, error)
      }
    }
  }

  async #show({ id: _id, ...run }: StoredRun): Promise<void> {
    const all = new StoreCell<Record<string, JobRun>>(this.#core, JOBS_KEY)
    try {
      await all.update((jobs) => {
        const latest = Object.entries({ ...runsIn(jobs), [this.name]: run }).toSorted(
          ([, a], [, b]) => b.startedMs - a.startedMs,
        )
        return Object.fromEntries(latest.slice(0, JOBS_MAX))
      })
    } catch (error) {
      diagnostics.failed(this.#key, error)
    }
  }
}

/** A value from the store is input: a record that names no period does not count as a run. */
function isRun(value: StoredRun | null | undefined): value is StoredRun {
  return typeof value?.dueMs === 'number'
}

/** The runs in the cell of all jobs, whoever has written it. */
export function runsIn(jobs: Readonly<Record<string, JobRun>> | undefined): Readonly<Record<string, JobRun>> {
  return Object.fromEntries(Object.entries(jobs ?? {}).filter(([, run]) => isRun(run)))
}
