/** Errors that cross from one thread to another: their class would be lost on the way. */
import * as errors from '../core/errors.ts'

export interface SentError {
  readonly code: string
  readonly message: string
  readonly line?: string
}

type Made = new (message: string, detail: { readonly line?: string }) => errors.HoldfastError

/** Those that a driver may reject with. */
const CLASSES: Record<string, Made> = {
  HF_CAPACITY: errors.CapacityMismatchError,
  HF_UNSUPPORTED: errors.UnsupportedError,
  HF_STORE: errors.StoreError,
  HF_UNREACHABLE: errors.StoreUnreachableError,
  HF_USAGE: errors.UsageError,
  HF_MISSING_CLIENT: errors.MissingClientError,
  HF_UNKNOWN: errors.OutcomeUnknownError,
  HF_CLOSED: errors.ClosedError,
}

export function sendable(error: unknown): SentError {
  if (!(error instanceof errors.HoldfastError)) {
    return { code: 'HF_STORE', message: error instanceof Error ? error.message : String(error) }
  }
  const { code, message, line } = error
  return line === undefined ? { code, message } : { code, message, line }
}

export function received({ code, message, line }: SentError): errors.HoldfastError {
  const Class = CLASSES[code] ?? errors.StoreError
  return new Class(message, line === undefined ? {} : { line })
}
