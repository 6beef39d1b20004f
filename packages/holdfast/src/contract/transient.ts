/** Which failures leave the outcome of a request open. */
import { OutcomeUnknownError, StoreUnreachableError } from './errors.ts'

/** Whether the same request may succeed later. */
export function isTransient(error: unknown): boolean {
  return error instanceof StoreUnreachableError || error instanceof OutcomeUnknownError
}
