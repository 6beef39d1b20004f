/** The outcome of an attempt, where more than one outcome is worth showing. */
import { AcquireTimeoutError, type Held, HoldfastError } from 'holdfast'

/** null: not in time, because others have the lock. */
export async function orNull(acquiring: Promise<Held>): Promise<Held | null> {
  try {
    return await acquiring
  } catch (error) {
    if (error instanceof AcquireTimeoutError) return null
    throw error
  }
}

/** The result, or the typed error of the refusal. */
export async function orRefusal<T>(attempt: Promise<T>): Promise<T | HoldfastError> {
  try {
    return await attempt
  } catch (error) {
    if (error instanceof HoldfastError) return error
    throw error
  }
}
