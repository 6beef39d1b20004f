/** Runs the steps of a job one after another, and stops at the first that fails. */
import { spawnSync } from 'node:child_process'

/**
 * @param {readonly (readonly [name: string, command: string, ...args: string[]])[]} steps
 */
export function runSteps(steps) {
  for (const [name, command, ...args] of steps) {
    const started = performance.now()
    const result = spawnSync(command, args, { stdio: 'inherit', shell: false, env: withBin() })
    const seconds = ((performance.now() - started) / 1000).toFixed(1)
    if (result.error) throw result.error
    if (result.status !== 0) {
      console.error(`\n✗ ${name} (${seconds} s)`)
      process.exit(result.status ?? 1)
    }
    console.log(`✓ ${name} (${seconds} s)`)
  }
}

function withBin() {
  return { ...process.env, PATH: `node_modules/.bin:${process.env.PATH}` }
}
