/** The static checks: types, lint, format, exports, unused code. House rules are tests, in test/house-rules.test.ts. */
import { runSteps } from './run.js'

runSteps([
  ['types', 'tsc', '-p', 'tsconfig.json'],
  ['types of the bench', 'tsc', '-p', 'bench'],
  ["types of the console's page", 'tsc', '-p', 'packages/holdfast-console/page'],
  ["types of the documentation's page", 'tsc', '-p', 'scripts/docs/page'],
  ['lint', 'oxlint', '--type-aware', '--deny-warnings'],
  ['format', 'biome', 'format', '.'],
  ['unused code', 'knip'],
])
