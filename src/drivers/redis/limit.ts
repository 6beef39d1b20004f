/** A time limit on what a foreign client does: it may queue a command for ever, and every call of a driver settles. */
import { StoreUnreachableError } from '../../core/errors.ts'

/** Settles as the promise does, or rejects after `ms`. What the promise does later is nobody's concern. */
export async function within<T>(promise: Promise<T>, ms: number, where: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new StoreUnreachableError(`Redis at ${where} gave no answer within ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
