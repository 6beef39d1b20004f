/** `holdfast/compat/redlock`: the API of the package redlock 5, so that to change the import is the migration. */
export { ExecutionError, type ExecutionResult, type ExecutionStats, ResourceLockedError } from './errors.ts'
export { Lock } from './lock.ts'
export { Redlock as default, Redlock, type RedlockAbortSignal } from './redlock.ts'
export type { RedlockSettings as Settings } from './settings.ts'
