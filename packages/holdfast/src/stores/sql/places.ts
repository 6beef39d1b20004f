/** Reads the one form in which both SQL stores answer where a place stands. */
import type { CapacityMismatchError } from '../../contract/errors.ts'
import type { Entry, Instant, Place } from '../../contract/driver.ts'
import { capacityError } from '../shared/capacity.ts'

/** Both count in microseconds. */
export const US = 1_000

/** `token,ahead,recheck,wanted`; nothing is no place. */
export function readPlace(answer: string | null, since: Instant): Place | null {
  if (answer === null || answer === '') return null
  const [token = '', ahead, recheck, wanted] = answer.split(',')
  return {
    token: BigInt(token),
    ahead: Number(ahead),
    recheckMs: Number(ahead) === 0 ? null : Math.max(0, Number(recheck) / US),
    since,
    wanted: Number(wanted) > 0,
  }
}

/** `capacity n`: the line is in use with that one. */
export function refusedCapacity(entry: Entry, answer: string): CapacityMismatchError {
  return capacityError(entry, Number(answer.slice('capacity '.length)))
}
