/** Runs the steps of a job one after another, and stops at the first that fails. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'

/** @typedef {readonly [name: string, command: string, ...args: string[]]} Step */

/**
 * @param {readonly Step[]} steps
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

/**
 * Runs several jobs beside each other. The output of a step is shown when the step has ended.
 *
 * @param {readonly (readonly Step[])[]} lanes
 */
export async function runLanes(lanes) {
  /** @type {Set<import('node:child_process').ChildProcess>} */
  const running = new Set()
  /** @param {Step} step */
  const run = async ([name, command, ...args]) => {
    const started = performance.now()
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: withBin() })
    running.add(child)
    const said = []
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => said.push(chunk))
    const [code] = await once(child, 'close')
    running.delete(child)
    if (process.exitCode) return
    process.stdout.write(Buffer.concat(said))
    const seconds = ((performance.now() - started) / 1000).toFixed(1)
    console.log(`${code === 0 ? '✓' : '\n✗'} ${name} (${seconds} s)`)
    if (code === 0) return
    process.exitCode = code ?? 1
    for (const other of running) other.kill()
  }
  await Promise.all(
    lanes.map(async (steps) => {
      for (const step of steps) if (!process.exitCode) await run(step)
    }),
  )
}

function withBin() {
  return { ...process.env, PATH: `node_modules/.bin:${process.env.PATH}` }
}
