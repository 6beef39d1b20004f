/** `holdfast-lab/rehearse`: does your critical section survive a pause? Re-exports only. */
export type { Remote } from './calls.ts'
export type { HarmKind } from './judge.ts'
export type { Rehearsable, RehearseOptions, Scene } from './options.ts'
export { rehearse, survey } from './rehearse.ts'
export { type Failure, htmlReport, type Missing, type Rehearsal, RehearsalError, textReport } from './report.ts'
