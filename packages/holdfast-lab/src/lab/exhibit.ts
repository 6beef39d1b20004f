/** An exhibit of the lab: a recipe, the schedule that breaks it, and the same schedule with Holdfast. */
import type { ServerKind, ToolKind } from '../testbed/needs.ts'
import type { Stage } from './stage.ts'
import type { Timeline } from './timeline.ts'

/** Who acts: the recipe under test, a right recipe of others, or Holdfast. */
export type Actors = 'recipe' | 'remedy' | 'holdfast'

/**
 * The outcome of an act. Of recipes and remedies: harm, or none. Of Holdfast: 'impossible' (the same was done, and
 * nothing happened), 'caught' (it was tried, and the store, the holder's own clock or what the lock protects refused
 * it), 'exposed' (it happened).
 */
export type Result = 'harm' | 'no harm' | 'impossible' | 'caught' | 'exposed'

export interface Figure {
  readonly name: string
  readonly value: number
  /** Default none. */
  readonly unit?: string
}

/** The figure of harm, and up to which value it is none. */
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
  /** The outcome that the exhibit predicts. */
  readonly claim: Result
  /** The outcome itself, computed from the measurements. */
  readonly result: Result
  readonly timeline: Timeline
}

export interface Exhibit {
  /** Its name on the command line. */
  readonly name: string
  readonly title: string
  /** The recipe, as people teach it. */
  readonly recipe: string
  /** Where the recipe comes from. */
  readonly source: string
  /** What there is to learn, in a sentence. */
  readonly lesson: string
  /** The servers that it needs. */
  readonly servers: readonly ServerKind[]
  /** Further tools that it needs; default none. */
  readonly tools?: readonly ToolKind[]
  /** 'deterministic': its schedule is forced step by step. 'statistical': events are counted, and the count varies. */
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
  /** Every act ended as the exhibit predicts. */
  readonly shown: boolean
}
