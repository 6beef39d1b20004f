import { describe, expect, it } from 'vitest'
import { type Ballot, ballotIn, Tally } from '../../../src/stores/redlock/tally.ts'

const answer = (...items: number[]): Ballot => ballotIn([1_700_000_000_000_000, 0, ...items], 0)
const vote = (token: number): Ballot => answer(1, token, 0, 0, -1)
const waits = answer(0, 7, 1, 0, 500)
const gone = answer(-1, 0, 0, 0, -1)
const refused = answer(-3)
const mismatch = answer(-2, 3)

function count(total: number, quorum: number, heard: readonly (Ballot | 'error')[], isHeld = false): Tally {
  const tally = new Tally(total, quorum, isHeld)
  for (const [i, one] of heard.entries()) {
    if (one === 'error') tally.miss(new Error('down'))
    else tally.hear(i, one)
  }
  return tally
}

describe('tally', () => {
  it('is decided with the first majority, and knows a token that a majority shares', () => {
    expect(count(5, 3, [vote(9), vote(9)]).outcome).toBe(null)
    const tally = count(5, 3, [vote(9), vote(8), vote(9)])
    expect([tally.outcome, tally.agreed]).toEqual(['granted', null])
    expect(count(5, 3, [vote(9), vote(8), vote(9), vote(9)]).agreed).toBe(9)
  })

  it('is decided as soon as a majority of votes is impossible', () => {
    expect(count(5, 3, [waits, waits, waits]).outcome).toBe('waiting')
    expect(count(5, 3, [vote(1), waits, waits, waits]).outcome).toBe('waiting')
    expect(count(5, 3, ['error', 'error', 'error']).outcome).toBe(null)
    expect(count(5, 3, ['error', 'error', 'error', waits, waits]).outcome).toBe('unreachable')
    expect(count(5, 3, [refused, refused, refused]).outcome).toBe('refused')
    expect(count(5, 3, [mismatch, mismatch, mismatch]).outcome).toBe('mismatch')
  })

  it.each([2, 4])('settles with an even number of servers (%i), split in halves', (total) => {
    const half = Array.from({ length: total / 2 }, () => vote(1))
    const other = Array.from({ length: total / 2 }, () => waits)
    expect(count(total, total / 2 + 1, [...half, ...other]).outcome).toBe('waiting')
    const none = Array.from({ length: total / 2 }, () => refused)
    expect(count(total, total / 2 + 1, [...half, ...none]).outcome).toBe('refused')
  })

  it('takes a hold for lost only when too many servers say so, and not when they are silent', () => {
    expect(count(5, 3, [vote(1), gone, gone, gone], true).outcome).toBe('gone')
    expect(count(5, 3, [vote(1), vote(1), gone, gone, 'error'], true).outcome).toBe('unreachable')
    expect(count(5, 3, [vote(1), vote(1), gone, gone, vote(1)], true).outcome).toBe('granted')
    expect(count(5, 3, [waits, waits, waits], true).outcome).toBe('gone')
  })

  it('keeps a hold that has half of the votes: nobody else can have a majority', () => {
    expect(count(4, 3, [vote(1), vote(1), waits, waits], true).outcome).toBe('unreachable')
    expect(count(4, 3, [vote(1), vote(1), gone, gone], true).outcome).toBe('unreachable')
    expect(count(4, 3, [vote(1), waits, waits], true).outcome).toBe(null)
    expect(count(4, 3, [vote(1), waits, waits, gone], true).outcome).toBe('gone')
    expect(count(4, 3, [vote(1), waits, waits, 'error'], true).outcome).toBe('gone')
  })

  it('tells contention from outage: a try that most servers answered was refused', () => {
    expect(count(5, 3, [vote(1), refused, 'error', 'error', vote(1)]).outcome).toBe('refused')
    expect(count(5, 3, [refused, 'error', 'error', 'error', vote(1)]).outcome).toBe('unreachable')
  })
})
