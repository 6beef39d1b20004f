/** The option that bounds the pauses between polls. */
import { checkKeys, checkWhole } from '../../contract/check.ts'
import type { PollRange } from '../shared/poller.ts'

export interface PollMs {
  readonly min: number
  readonly max: number
}

export function checkPoll(given: PollMs | undefined): PollRange {
  if (given === undefined) return { minMs: 25, maxMs: 500 }
  checkKeys('pollMs', given, ['min', 'max'])
  const minMs = checkWhole('pollMs.min', given.min, 5, 60_000)
  return { minMs, maxMs: checkWhole('pollMs.max', given.max, minMs, 60_000) }
}
