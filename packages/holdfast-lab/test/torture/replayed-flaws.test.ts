/**
 * Faults of the line that Holdfast once had, seen from outside: clients write down what a line with such a fault tells
 * them, and the replay finds an answer that the model can't have given. What a right line tells is always explained.
 */
import { stepLine } from 'holdfast/conformance'
import { expect, test } from 'vitest'
import { FLAWS } from '../../src/model/flaws.ts'
import { model } from '../../src/torture/checker/model.ts'
import { order } from '../../src/torture/checker/order.ts'
import { makeTrial } from '../../src/torture/checker/trial.ts'
import { madeHistory } from './made-history.ts'

const SEEDS = 60

test(`a right line is explained, ${SEEDS} times`, () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const trial = makeTrial(madeHistory(stepLine, seed))
    expect(trial.holds.length, `seed ${seed}`).toBeGreaterThan(50)
    expect([...model(trial).violations, ...order(trial).violations], `madeHistory(stepLine, ${seed})`).toEqual([])
  }
})

/** What stands still, or is left behind, is for other laws: A1, A5 and the second half of A10. */
const SEEN = [
  'a broken place goes when it is left',
  'a break serves the next at once',
  'an enter is answered and not kept',
  'a renewal is answered, and the lease is not longer for it',
  'places of another make are not seen',
  'clients with other servers keep a line of their own',
  'a place is thrown away while its lease runs',
  'tokens begin again when the line is empty',
]

test.each(SEEN)('found in what clients were told: %s', (name) => {
  const flaw = FLAWS.find((each) => each.name === name)
  if (flaw === undefined) throw new Error(`there is no flaw ${name}`)
  const found: number[] = []
  for (let seed = 1; seed <= 10; seed++) {
    if (model(makeTrial(madeHistory(flaw.rules.step, seed))).violations.length > 0) found.push(seed)
  }
  expect(found, 'seeds 1 to 10 of madeHistory').not.toEqual([])
})
