/** Embeds the scripts of the stores, and compiles src and conformance into dist. */
import { rmSync } from 'node:fs'
import { runSteps } from './run.js'

rmSync('dist', { recursive: true, force: true })
runSteps([
  ['scripts', 'node', 'scripts/embed.js'],
  ['build', 'tsc', '-p', 'tsconfig.build.json'],
])
