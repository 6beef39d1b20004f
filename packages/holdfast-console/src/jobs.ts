/** What the console shows beside locks: the last runs of jobs. */
import { type Holdfast, UnsupportedError } from 'holdfast'
import type { JobView, RunEnd } from './wire.ts'

const RUNS_MAX = 12

export class Jobs {
  readonly #hf: Holdfast
  #hasJobs = true
  /** The runs of each job that the console saw, by their beginning. The store keeps only the last. */
  readonly #runs = new Map<string, Map<number, RunEnd>>()

  constructor(hf: Holdfast) {
    this.#hf = hf
  }

  async look(): Promise<JobView[]> {
    if (!this.#hasJobs) return []
    try {
      return Object.entries(await this.#hf.jobs())
        .map(([name, { startedMs, endedMs, ok, host, pid }]) => ({
          name,
          startedMs,
          endedMs,
          ok,
          who: `${host}:${pid}`,
          runs: this.#note(name, startedMs, ok),
        }))
        .sort((a, b) => b.startedMs - a.startedMs)
    } catch (error) {
      if (!(error instanceof UnsupportedError)) throw error
      // A store without cells has no jobs, now and later.
      this.#hasJobs = false
      return []
    }
  }

  /** The oldest first. If a run was still going on and another has begun since, the first has died. */
  #note(name: string, startedMs: number, ok: boolean | null): RunEnd[] {
    let runs = this.#runs.get(name)
    if (runs === undefined) this.#runs.set(name, (runs = new Map()))
    for (const [begun, end] of runs) if (end === 'running' && begun !== startedMs) runs.set(begun, 'died')
    runs.set(startedMs, ok === null ? 'running' : ok ? 'ok' : 'failed')
    const [oldest] = runs.keys()
    if (runs.size > RUNS_MAX && oldest !== undefined) runs.delete(oldest)
    return [...runs.values()]
  }
}
