/** Reads the one form in which both SQL stores answer where a place stands. */
import { CapacityMismatchError } from '../../contract/errors.ts'
import type { Entry, Instant, Place } from '../../contract/driver.ts'

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
export function capacityError({ line, capacity }: Entry, answer: string): CapacityMismatchError {
  const message = `line ${JSON.stringify(line)} has ${answer} while it is in use, asked for ${capacity}`
  return new CapacityMismatchError(message, { line })
}
