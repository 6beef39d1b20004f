/** `npm test`: everything that must be true before a change lands. */
import { runSteps } from './run.js'

// Here, and only here, missing servers are installed without being asked for.
process.env.HOLDFAST_TEST_INSTALL ??= '1'

runSteps([
  ['build', 'node', 'scripts/build.js'],
  ['static checks', 'node', 'scripts/lint.js'],
  ['dependencies', 'node', 'scripts/audit.js'],
  ['package', 'publint', '--strict', 'packages/holdfast'],
  ['package of the Nest module', 'publint', '--strict', 'packages/holdfast-nest'],
  ['package of the laboratory', 'publint', '--strict', 'packages/holdfast-lab'],
  ['package of the console', 'publint', '--strict', 'packages/holdfast-console'],
  // The old resolution knows no package.json as a module, and these have no types.
  [
    'types of the package',
    'attw',
    '--pack',
    'packages/holdfast',
    '--exclude-entrypoints',
    'internal',
    'worker',
    'package.json',
  ],
  ['unit tests', 'vitest', 'run', '--project', 'unit'],
  ['model', 'node', '--import', 'tsx', 'packages/holdfast-lab/src/model/main.ts'],
  ['simulation', 'tsx', 'packages/holdfast-lab/simulation/locks/main.ts', '--seeds', '1..20000'],
  ['simulation of Redlock', 'tsx', 'packages/holdfast-lab/simulation/redlock/main.ts', '--seeds', '1..2000'],
  ['simulation of the kit', 'tsx', 'packages/holdfast-lab/simulation/kit/main.ts', '--seeds', '1..1000'],
  ['tests with real processes and servers', 'vitest', 'run', '--project', 'real', '--passWithNoTests'],
])

if (process.env.HOLDFAST_TEST_SKIP)
  console.log(`! not tested, by HOLDFAST_TEST_SKIP: ${process.env.HOLDFAST_TEST_SKIP}`)
