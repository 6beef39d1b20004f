/**
 * `holdfast/conformance`: the laws of driver.ts as cases that any driver must pass, ours or another. It imports no test
 * runner: loop over the cases and hand them to yours.
 */
import { access } from './access.ts'
import { bind, type ConformanceCase } from './case.ts'
import { cells } from './cells.ts'
import { crowds } from './crowds.ts'
import { deadlocks } from './deadlocks.ts'
import { elections } from './elections.ts'
import { endings } from './endings.ts'
import { extensions } from './extensions.ts'
import { extras } from './extras.ts'
import { faults } from './faults.ts'
import { ids } from './ids.ts'
import { keeps } from './keeps.ts'
import { kept } from './kept.ts'
import { laws } from './laws.ts'
import { limiters } from './limiters.ts'
import { losses } from './losses.ts'
import { meetings } from './meetings.ts'
import { multis } from './multis.ts'
import { names } from './names.ts'
import { processes } from './processes.ts'
import { reentry } from './reentry.ts'
import type { StoreUnderTest } from './rig.ts'
import { tokens } from './tokens.ts'
import { upgrades } from './upgrades.ts'
import { views } from './views.ts'
import { walks } from './walk.ts'

export type { ConformanceCase } from './case.ts'
export type { StoreUnderTest } from './rig.ts'
export { type Asked, Mirror, type ModelEntry, type RealAnswer } from './mirror.ts'
export {
  emptyLine,
  holders,
  isGrantedIn,
  type LineEvent,
  type LineStep,
  type ModelAnswer,
  type ModelLine,
  type ModelPlace,
  type ModelRaise,
  purge,
  shift,
  stepLine,
  type StepLine,
} from './model-line.ts'

const DRAFTS = [
  ...laws,
  ...walks,
  ...tokens,
  ...access,
  ...crowds,
  ...losses,
  ...endings,
  ...extensions,
  ...reentry,
  ...faults,
  ...names,
  ...views,
  ...cells,
  ...elections,
  ...multis,
  ...limiters,
  ...ids,
  ...extras,
  ...keeps,
  ...kept,
  ...upgrades,
  ...meetings,
  ...deadlocks,
  ...processes,
]

/** All cases for the store that the module and the config name. */
export function conformance(store: StoreUnderTest): ConformanceCase[] {
  return DRAFTS.map((draft) => bind(draft, store))
}
