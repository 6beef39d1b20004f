/** An exhibit of the lab: a recipe, the schedule that breaks it, and the same schedule with Holdfast. */
import type { ServerKind, ToolKind } from '../testbed/needs.ts'
import type { Stage } from './stage.ts'
import type { Timeline } from './timeline.ts'

/** Who acts: the recipe under test, a recipe of others that is right, or Holdfast. */
export type Actors = 'recipe' | 'remedy' | 'holdfast'

/**
 * What came of an act. Of recipes and remedies: harm, or none. Of Holdfast: 'impossible' (the same was done, and
 * nothing came of it), 'caught' (it was tried and refused, by the store, by the holder's own clock or by what the lock
 * protects), 'exposed' (it happened).
 */
export type Result = 'harm' | 'no harm' | 'impossible' | 'caught' | 'exposed'

export interface Figure {
  readonly name: string
  readonly value: number
  /** Default none. */
  readonly unit?: string
}

/** The figure of harm, and up to where it is none. */
export interface Harm extends Figure {
  /** The largest value that does no harm; default 0. */
  readonly fine?: number
}

/** What an act has measured. */
export interface Outcome {
  readonly harm: Harm
  /** How often harm was tried and refused; default 0. */
  readonly caught?: number
  readonly figures?: readonly Figure[]
}

export interface Act extends Outcome {
  readonly title: string
  readonly by: Actors
  /** What the exhibit says will come of it. */
  readonly claim: Result
  /** What did come of it: computed from the outcome. */
  readonly result: Result
  readonly timeline: Timeline
}

export interface Exhibit {
  /** As it is called on the command line. */
  readonly name: string
  readonly title: string
  /** What the recipe is, as it is taught. */
  readonly recipe: string
  /** Who says so. */
  readonly source: string
  /** What is learnt, in a sentence. */
  readonly lesson: string
  /** The servers that it needs. */
  readonly servers: readonly ServerKind[]
  /** What it needs besides; default nothing. */
  readonly tools?: readonly ToolKind[]
  /**
   * 'deterministic': its schedule is forced step by step. 'statistical': what happens is counted, and the count varies.
   */
  readonly kind: 'deterministic' | 'statistical'
  run(stage: Stage): Promise<readonly Act[]>
}

export function resultOf(by: Actors, { harm, caught = 0 }: Outcome): Result {
  const isHarmed = harm.value > (harm.fine ?? 0)
  if (by !== 'holdfast') return isHarmed ? 'harm' : 'no harm'
  if (isHarmed) return 'exposed'
  return caught > 0 ? 'caught' : 'impossible'
}

/** An exhibit that was run. */
export interface Report {
  readonly exhibit: Exhibit
  readonly acts: readonly Act[]
  /** Programs and their versions. */
  readonly versions: string
  readonly ms: number
  /** Every act ended as the exhibit says. */
  readonly shown: boolean
}
