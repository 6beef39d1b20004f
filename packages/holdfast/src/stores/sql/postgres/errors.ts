/** What an error of the server or of the client library means to Holdfast. */
import { HoldfastError, StoreError, StoreUnreachableError } from '../../../contract/errors.ts'

/** The request may get an answer later: shutdown, crash, start, too many connections, cancelled, lock not available. */
const PASSING = new Set(['57P01', '57P02', '57P03', '57P05', '53300', '57014', '55P03', '40001', '40P01', '25P03'])
/** No such table, function, schema, column. */
const NO_SCHEMA = new Set(['42P01', '42883', '3F000', '42703'])
const POOLER =
  'a transaction pooler is in between: give a `postgres` object with `prepare: false`, or use the package pg, ' +
  'which notices it'
const ADVICE: Record<string, string> = {
  '25006':
    'the server takes no writes: it is a replica, or the role or database is read-only. Give the URL of the primary',
  '42501':
    "the role may not do this. Run `holdfast migrate --store URL --print` as the tables' owner, and grant the " +
    'role their use',
  '26000': POOLER,
  '42P05': POOLER,
  HF001:
    "transactions must be read committed: ALTER ROLE … SET default_transaction_isolation TO 'read committed', " +
    'or give Holdfast its own pool',
}

/** Deadlock or serialization failure: the statement did nothing, and may be sent again at once. */
export function isVictim(error: unknown): boolean {
  const code = codeOf(error)
  return code === '40001' || code === '40P01'
}

/**
 * The server takes no writes any more, or this session began while it took none: another connection may reach the
 * primary.
 */
export function isReadOnly(error: unknown): boolean {
  return codeOf(error) === '25006'
}

export function isDeadlock(error: unknown): boolean {
  return codeOf(error) === '40P01'
}

/** A wait for a lock was ended by lock_timeout, or by statement_timeout. */
export function isWaitOver(error: unknown): boolean {
  const code = codeOf(error)
  return code === '55P03' || code === '57014'
}

export function isSchemaMissing(error: unknown): boolean {
  return NO_SCHEMA.has(codeOf(error))
}

/** 26000: no such prepared statement; 42P05: there is one already, of somebody else. A pooler is in between. */
export function isLostPreparation(error: unknown): boolean {
  const code = codeOf(error)
  return code === '26000' || code === '42P05'
}

/** Never carries a URL or a password: the server's messages name neither. */
export function toStoreError(error: unknown): Error {
  if (error instanceof HoldfastError) return error
  const code = codeOf(error)
  const message = error instanceof Error ? error.message : String(error)
  // Both client libraries pass the server's severity on. EPIPE has five letters, too, and is no answer.
  const isState = /^[0-9A-Z]{5}$/.test(code) && (error as { readonly severity?: unknown }).severity !== undefined
  if (!isState || code.startsWith('08') || PASSING.has(code)) {
    return new StoreUnreachableError(`postgres: ${message || code}`, { cause: error })
  }
  const advice = ADVICE[code]
  return new StoreError(`postgres: ${message} (${code})${advice === undefined ? '' : `; ${advice}`}`, { cause: error })
}

function codeOf(error: unknown): string {
  const code = (error as { readonly code?: unknown } | null)?.code
  return typeof code === 'string' ? code : ''
}
