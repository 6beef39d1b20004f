/** `npm test`: everything that must be true before a change lands. */
import { runSteps } from './run.js'

runSteps([
  ['build', 'node', 'scripts/build.js'],
  ['static checks', 'node', 'scripts/lint.js'],
  ['package', 'publint', '--strict'],
  ['types of the package', 'attw', '--pack', '.', '--profile', 'esm-only'],
  ['unit tests', 'vitest', 'run', '--project', 'unit'],
  ['tests with real processes and servers', 'vitest', 'run', '--project', 'real', '--passWithNoTests'],
])
