/**
 * Every call settles: what the client library leaves hanging ends here, with the error of a store that gave no answer.
 */
import { StoreUnreachableError } from '../../contract/errors.ts'
import { within } from '../shared/deadline.ts'

/** The answer, or after `ms` a StoreUnreachableError; whatever the promise does later is of no interest any more. */
export function answerWithin<T>(promise: Promise<T>, ms: number, store: string): Promise<T> {
  return within(
    promise,
    performance.now() + ms,
    () => new StoreUnreachableError(`${store} gave no answer within ${ms} ms`),
  )
}
