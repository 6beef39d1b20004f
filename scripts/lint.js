/**
 * The static checks: types, lint, format, exports, unused code. House rules are tests, in test/house-rules.test.ts. The
 * bench measures the build and takes its types from there, so a build that is missing or stale is made first.
 */
import { isBuilt } from './built.js'
import { runSteps } from './run.js'

runSteps([
  ...(isBuilt() ? [] : [/** @type {const} */ (['build', 'node', 'scripts/build.js', '--no-types'])]),
  ['types', 'tsc', '-p', 'tsconfig.json'],
  ['types of the bench', 'tsc', '-p', 'bench'],
  ["types of the console's page", 'tsc', '-p', 'packages/holdfast-console/page'],
  ["types of the documentation's page", 'tsc', '-p', 'scripts/docs/page'],
  ['lint', 'oxlint', '--type-aware', '--deny-warnings'],
  ['format', 'biome', 'format', '.'],
  ['unused code', 'knip'],
])
