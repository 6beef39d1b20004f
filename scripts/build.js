/** Compiles src and conformance into dist. */
import { rmSync } from 'node:fs'
import { runSteps } from './run.js'

rmSync('dist', { recursive: true, force: true })
runSteps([['build', 'tsc', '-p', 'tsconfig.build.json']])
