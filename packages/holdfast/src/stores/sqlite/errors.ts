/** What SQLite's errors mean to a caller, and what to do about each. */
import { HoldfastError, StoreError, StoreUnreachableError } from '../../contract/errors.ts'

const BUSY = 5

/** Primary result codes of SQLite, and what to tell people. */
const ADVICE: Readonly<Record<number, string>> = {
  3: 'may not be accessed; check the permissions of the file and its folder',
  8: 'is read-only; Holdfast must be able to write the file and its folder',
  10: 'failed in input or output; check the disk',
  11: 'is corrupt; stop all that use it, move it away, and a new one will be made',
  13: 'has no room left on its disk; free some space',
  14: 'cannot be opened; check that its folder exists and may be written to',
  26: 'is not a SQLite database; give another path, or move that file away',
}

/** The primary result code, from either engine; null: not an error of SQLite. */
function codeOf(error: unknown): number | null {
  if (!(error instanceof Error)) return null
  const { errcode, rawCode } = error as { readonly errcode?: unknown; readonly rawCode?: unknown }
  const code = errcode ?? rawCode
  if (typeof code === 'number') return code & 0xff
  // For a file that it can't open libsql gives no code, only this message.
  const unopened = /^ConnectionFailed\(.*: (\d+)"\)$/s.exec(error.message)
  return unopened === null ? null : Number(unopened[1]) & 0xff
}

/** Another process is writing: try again. */
export function isBusy(error: unknown): boolean {
  return codeOf(error) === BUSY
}

/** The error for callers. An error of ours, or one that is not SQLite's, stays as it is. */
export function toStoreError(error: unknown, path: string): unknown {
  const code = codeOf(error)
  if (error instanceof HoldfastError || code === null) return error
  if (code === BUSY) {
    return new StoreUnreachableError(`sqlite: ${path} is busy; another process has kept it locked`, { cause: error })
  }
  const advice = ADVICE[code] ?? `gave an error: ${(error as Error).message}`
  return new StoreError(`sqlite: ${path} ${advice}`, { cause: error })
}

/** Why a file could not be made ready. Whoever may write the file may have removed tables and rows. */
export function toOpenError(error: unknown, path: string): unknown {
  const told = toStoreError(error, path)
  if (told instanceof HoldfastError) return told
  const why = error instanceof Error ? error.message : String(error)
  return new StoreError(
    `sqlite: ${path} could not be made ready: ${why}; if it is damaged, stop all that use it and move it away`,
    { cause: error },
  )
}
