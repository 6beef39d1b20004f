/** Every call settles: what the client library leaves hanging ends here, with the error of a store that gave no answer. */
import { StoreUnreachableError } from '../../core/errors.ts'

/** The answer, or after `ms` a StoreUnreachableError; whatever the promise does later is of no interest any more. */
export async function answerWithin<T>(promise: Promise<T>, ms: number, store: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const silence = new Promise<never>((_, reject) => {
    // Not unref'ed: a caller awaits this answer.
    timer = setTimeout(() => reject(new StoreUnreachableError(`${store} gave no answer within ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([promise, silence])
  } finally {
    clearTimeout(timer)
  }
}
