/** The console's public API: re-exports only. */
export { type LockConsole, lockConsole } from './handler.ts'
export type { AuditLine, ConsoleOptions, WatchedLimiter } from './options.ts'
