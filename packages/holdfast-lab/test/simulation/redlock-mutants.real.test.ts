/** The simulation of Redlock can see: every planted fault is found, by its seed or within 2 500 of them. */
import { test } from 'vitest'
import { MUTANTS } from '../../simulation/redlock/mutants.ts'
import { expectFound } from './planted.ts'

for (const mutant of MUTANTS) {
  // If the driver or the dice have changed since the seed was noted, another one finds it.
  test(`found: ${mutant.name}`, { timeout: 180_000 }, () =>
    expectFound('redlock', mutant, ['--seed', String(mutant.seed)], ['--seeds', '1..2500']),
  )
}
