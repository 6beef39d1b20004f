/**
 * `npm run check`, the inner loop: within a minute on two cores. Unit tests wait more than they compute, so types are
 * checked and locks are simulated beside them. The compiler keeps what it found for the next run: if little has
 * changed, the types take a few seconds.
 */
import { runLanes, runSteps } from './run.js'

/** A cache, outside of the tree: any run may make it anew. */
const KEPT_TYPES = ['--incremental', '--tsBuildInfoFile', 'node_modules/.cache/holdfast/types.tsbuildinfo']

runSteps([['embedded scripts', 'node', 'scripts/embed.js']])
await runLanes([
  [['unit tests', 'vitest', 'run', '--project', 'unit']],
  [
    ['types', 'tsc', '-p', '.', ...KEPT_TYPES],
    ['simulation', 'tsx', 'packages/holdfast-lab/simulation/locks/main.ts', '--seeds', '1..2000'],
    ['simulation of Redlock', 'tsx', 'packages/holdfast-lab/simulation/redlock/main.ts', '--seeds', '1..300'],
  ],
])
