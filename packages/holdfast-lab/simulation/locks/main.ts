/**
 * Runs seeds: `npm run simulate -- [--seeds 1..2000 | --seed 17 [--trace]]`; without either, 2 000 fresh ones.
 * Exits 1 at the first violation and prints the one command that replays it.
 */
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { play } from './scenario.ts'
import { failOnUnhandled, printNote, readSeeds, type Seeds, valueOf } from './seeds.ts'
import { Tally } from './tally.ts'

async function runSeeds(from: number, to: number, step: number, traced = false): Promise<Tally> {
  const tally = new Tally()
  for (let seed = from; seed <= to; seed += step) {
    const outcome = await play(seed, traced ? printNote : null)
    tally.add(outcome)
    if (outcome.violation !== null) break
  }
  return tally
}

async function runWorkers({ from, to }: Seeds, workers: number): Promise<Tally> {
  const self = fileURLToPath(import.meta.url)
  const tallies = Array.from({ length: workers }, (_, i) => {
    const child = fork(self, ['--part', String(from + i), String(to), String(workers)], { execArgv: process.execArgv })
    return new Promise<Tally>((resolve, reject) => {
      child.once('message', (data) => resolve(Tally.from(data as object)))
      child.once('error', reject)
      child.once('exit', (code) => {
        if (code !== 0) reject(new Error(`a worker of the simulation ended with ${code}`))
      })
    })
  })
  const total = new Tally()
  for (const tally of await Promise.all(tallies)) total.merge(tally)
  return total
}

failOnUnhandled()

const args = process.argv.slice(2)
if (args[0] === '--part') {
  const [from, to, step] = args.slice(1).map(Number) as [number, number, number]
  const tally = await runSeeds(from, to, step)
  process.send?.(tally.toJSON())
  process.disconnect?.()
} else {
  const seeds = readSeeds(args, 2_000)
  const workers = seeds.from === seeds.to ? 1 : Number(valueOf(args, '--workers') ?? availableParallelism())
  const started = performance.now()
  const tally =
    workers > 1 ? await runWorkers(seeds, workers) : await runSeeds(seeds.from, seeds.to, 1, args.includes('--trace'))
  console.log(tally.report((performance.now() - started) / 1_000))
  process.exitCode = tally.violations.length > 0 ? 1 : 0
}
