/** The error for a line that others use with another capacity, in the same words for every store. */
import type { Entry } from '../../contract/driver.ts'
import { CapacityMismatchError } from '../../contract/errors.ts'

/**
 * @param capacity that of the line.
 */
export function capacityError(asked: Pick<Entry, 'line' | 'capacity'>, capacity: number): CapacityMismatchError {
  const { line } = asked
  return new CapacityMismatchError(
    `lock ${JSON.stringify(line)} is in use with capacity ${capacity}; this caller asked for ${asked.capacity}`,
    { line },
  )
}
