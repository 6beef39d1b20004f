/**
 * `holdfast torture`: runs until there is a verdict. A run that tested nothing is repeated with the next seed.
 */
import { type Judgement, judge } from './checker/judge.ts'
import { conduct } from './conductor/conduct.ts'
import type { NotRun, RunOptions } from './conductor/options.ts'

/** After so many runs that prove nothing the torture has failed. */
const TRIES = 3

export interface TortureResult {
  readonly judgement: Judgement
  readonly notRun: readonly NotRun[]
  /** The seed of the run that was judged. */
  readonly seed: number
  readonly tries: number
}

export async function torture(o: RunOptions): Promise<TortureResult> {
  for (let tries = 1; ; tries++) {
    const seed = o.seed + tries - 1
    const { events, notRun } = await conduct({ ...o, seed })
    const judgement = judge(events)
    if (judgement.verdict !== 'unknown' || tries === TRIES || o.signal.aborted)
      return { judgement, notRun, seed, tries }
  }
}
