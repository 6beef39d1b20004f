/** What an error of the server or of the client library means to Holdfast. */
import { HoldfastError, StoreError, StoreUnreachableError } from '../../../contract/errors.ts'

/**
 * The request may get an answer later: a changed row, limits of connections, shutdown, lock wait, deadlock,
 * interrupted, killed; a Galera node that belongs to no majority (1047).
 */
const PASSING = new Set([
  1020, 1040, 1041, 1047, 1053, 1077, 1129, 1203, 1205, 1213, 1226, 1317, 1836, 1927, 1969, 3024, 4031,
])
/**
 * Deadlock, lock wait, a number out of range (batch.ts): the procedure's handler has rolled back, or the one statement
 * is undone, and the connection is as good as before.
 */
export const HARMLESS: ReadonlySet<number> = new Set([1213, 1205, 1690])
/** No such table, procedure, column. */
const NO_SCHEMA = new Set([1146, 1305, 1054])
const READ_ONLY = 'the server takes no writes: it is a replica, or read-only. Give the URL of the primary'
const NO_RIGHT =
  'the user may not do this. Run `holdfast migrate --store URL --print` as an owner, and grant the user EXECUTE ' +
  'on the procedures, and SELECT, INSERT, UPDATE and DELETE on the tables'
const ADVICE: Record<number, string> = {
  1290: READ_ONLY,
  1792: READ_ONLY,
  1044: NO_RIGHT,
  1142: NO_RIGHT,
  1227: NO_RIGHT,
  1370: NO_RIGHT,
  1568:
    'a connection of the pool was released inside a transaction. End it before, or give Holdfast a URL or a pool ' +
    'of its own',
  1046: 'name a database in the URL: mysql://host/database',
}

/**
 * Deadlock, lock wait, or a row that changed since the snapshot (MariaDB 11.6 and later, innodb_snapshot_isolation):
 * rolled back as a whole, and may be sent again at once.
 */
export function isVictim(error: unknown): boolean {
  const errno = errnoOf(error)
  return errno === 1213 || errno === 1205 || errno === 1020
}

export function isSchemaMissing(error: unknown): boolean {
  return NO_SCHEMA.has(errnoOf(error))
}

/** Never carries a URL or a password: the server's messages name neither. */
export function toStoreError(error: unknown): Error {
  if (error instanceof HoldfastError) return error
  const errno = errnoOf(error)
  const message = error instanceof Error ? error.message : String(error)
  const isAnswer = errno >= 1000 && (errno < 2000 || errno >= 3000)
  if (!isAnswer || PASSING.has(errno)) return new StoreUnreachableError(`mysql: ${message}`, { cause: error })
  const advice = ADVICE[errno]
  return new StoreError(`mysql: ${message} (${errno})${advice === undefined ? '' : `; ${advice}`}`, { cause: error })
}

/** System errors have negative numbers, and are no answers. */
export function errnoOf(error: unknown): number {
  const errno = (error as { readonly errno?: unknown } | null)?.errno
  return typeof errno === 'number' ? errno : 0
}
