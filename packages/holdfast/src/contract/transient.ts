/** Which failures say nothing about the outcome. */
import { OutcomeUnknownError, StoreUnreachableError } from './errors.ts'

/** Whether the same request may get an answer later. */
export function isTransient(error: unknown): boolean {
  return error instanceof StoreUnreachableError || error instanceof OutcomeUnknownError
}
