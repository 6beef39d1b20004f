/** `holdfast/compat/redlock`: the API of the package redlock 5. To migrate, change the import. */
export { ExecutionError, type ExecutionResult, type ExecutionStats, ResourceLockedError } from './errors.ts'
export { Lock } from './lock.ts'
export { Redlock as default, Redlock, type RedlockAbortSignal } from './redlock.ts'
export type { RedlockSettings as Settings } from './settings.ts'
