/**
 * `npm run check`, the inner loop: within a minute on two cores. Unit tests wait more than they compute, so types are
 * checked and locks are simulated beside them.
 */
import { runLanes, runSteps } from './run.js'

runSteps([['embedded scripts', 'node', 'scripts/embed.js']])
await runLanes([
  [['unit tests', 'vitest', 'run', '--project', 'unit']],
  [
    ['types', 'tsc', '-p', '.'],
    ['simulation', 'tsx', 'packages/holdfast-lab/simulation/locks/main.ts', '--seeds', '1..2000'],
    ['simulation of Redlock', 'tsx', 'packages/holdfast-lab/simulation/redlock/main.ts', '--seeds', '1..300'],
  ],
])
