/** The simulation can see: every planted fault is found within 10 000 seeds. */
import { expect, test } from 'vitest'
import { MUTANTS } from '../../simulation/locks/mutants.ts'
import { expectFound } from './planted.ts'

test('there are at least 12 mutants, each with a name of its own', () => {
  expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length)
  expect(MUTANTS.length).toBeGreaterThanOrEqual(12)
})

for (const mutant of MUTANTS) {
  // If the code or the dice have changed since the seed was noted, another one finds it.
  const noted = mutant.seed === undefined ? [] : [['--seed', String(mutant.seed)]]
  test(`found: ${mutant.name}`, { timeout: 180_000 }, () =>
    expectFound('locks', mutant, ...noted, ['--seeds', '1..10000']),
  )
}
