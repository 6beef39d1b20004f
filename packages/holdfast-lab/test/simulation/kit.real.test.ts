/** The simulation of rate limits and jobs can see: every planted fault is found within 2 000 seeds. */
import { test } from 'vitest'
import { MUTANTS } from '../../simulation/kit/mutants.ts'
import { expectFound } from './planted.ts'

for (const mutant of MUTANTS) {
  test(`found: ${mutant.name}`, { timeout: 180_000 }, () => expectFound('kit', mutant, ['--seeds', '1..2000']))
}
