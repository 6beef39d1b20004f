/** What an attempt came to, where more than one outcome is worth showing. */
import { AcquireTimeoutError, type Held, HoldfastError } from 'holdfast'

/** null: not in time, since others have it. */
export async function orNull(acquiring: Promise<Held>): Promise<Held | null> {
  try {
    return await acquiring
  } catch (error) {
    if (error instanceof AcquireTimeoutError) return null
    throw error
  }
}

/** What it gave, or the typed error that it was refused with. */
export async function orRefusal<T>(attempt: Promise<T>): Promise<T | HoldfastError> {
  try {
    return await attempt
  } catch (error) {
    if (error instanceof HoldfastError) return error
    throw error
  }
}
