/**
 * `npm run model`: enumerates every schedule of small worlds, and prints how many states each has. With `--deep` larger
 * worlds, with `--world NAME` one world. Exits with 1 and the shortest schedule if a law is broken.
 */
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { type Explored, explore } from './search.ts'
import { deepJobs, type Job, plainJobs } from './worlds.ts'

interface Done extends Explored {
  readonly faults: string
  readonly seconds: number
}

function run({ world, faults, budget }: Job): Done {
  const from = performance.now()
  const explored = explore(world, budget)
  return { ...explored, faults, seconds: (performance.now() - from) / 1_000 }
}

function report({ world, faults, states, steps, depth, fault, seconds }: Done): void {
  const counts = `${states} states, ${steps} steps, at most ${depth} moves deep, ${seconds.toFixed(1)} s`
  console.log(`${fault === null ? '✓' : '✗'} ${world}; ${faults}: ${counts}`)
  if (fault !== null) console.log([fault.law, ...fault.schedule.map((move, i) => `${i + 1}. ${move}`)].join('\n  '))
}

/** Each worker takes the next job when it has finished one; the largest come first. */
async function share(jobs: readonly Job[], deep: boolean): Promise<Done[]> {
  const done: Done[] = []
  let next = 0
  const worker = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const child = fork(fileURLToPath(import.meta.url), [deep ? '--deep' : '--plain', '--worker'], {
        execArgv: process.execArgv,
      })
      const give = (): void => {
        if (next < jobs.length) child.send(next++)
        else child.disconnect()
      }
      child.on('message', (message) => {
        done.push(message as Done)
        report(message as Done)
        give()
      })
      child.once('error', reject)
      child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`a worker ended with ${code}`))))
      give()
    })
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), jobs.length) }, worker))
  return done
}

const args = process.argv.slice(2)
const deep = args.includes('--deep')
const only = args.includes('--world') ? args[args.indexOf('--world') + 1] : undefined
const jobs = deep ? deepJobs() : plainJobs()
if (args.includes('--worker')) {
  process.on('message', (at) => process.send?.(run(jobs[at as number] as Job)))
} else if (only !== undefined) {
  const chosen = jobs.filter(({ world }) => world.name === only).map(run)
  for (const each of chosen) report(each)
  if (chosen.length === 0) throw new Error(`there is no world ${JSON.stringify(only)}`)
  process.exitCode = chosen.every(({ fault }) => fault === null) ? 0 : 1
} else {
  const from = performance.now()
  const done = await share(jobs, deep)
  const states = done.reduce((sum, each) => sum + each.states, 0)
  const faults = done.filter(({ fault }) => fault !== null).length
  const seconds = ((performance.now() - from) / 1_000).toFixed(1)
  console.log(`${done.length} searches, ${states} states in ${seconds} s; ${faults === 0 ? 'no' : faults} broken laws`)
  process.exitCode = faults === 0 ? 0 : 1
}
