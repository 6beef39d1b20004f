/** The option that bounds the pauses between polls. */
import { checkKeys, checkWhole } from '../../contract/check.ts'
import type { PollRange } from '../shared/poller.ts'

/** Bounds of the pauses between two looks, where the server can't tell. Default 25 to 500 ms. */
export interface PollMs {
  /** After the first look. 5 to 60 000. */
  readonly min: number
  /** After many. `min` to 60 000. */
  readonly max: number
}

export function checkPoll(given: PollMs | undefined): PollRange {
  if (given === undefined) return { minMs: 25, maxMs: 500 }
  checkKeys('pollMs', given, ['min', 'max'])
  const minMs = checkWhole('pollMs.min', given.min, 5, 60_000)
  return { minMs, maxMs: checkWhole('pollMs.max', given.max, minMs, 60_000) }
}
