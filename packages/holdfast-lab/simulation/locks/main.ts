/**
 * Runs seeds: `npm run simulate -- [--seeds 1..2000 | --seed 17 [--trace]]`; without either, 2 000 fresh ones.
 * Exits 1 at the first violation and prints the one command that replays it.
 */
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { play } from './scenario.ts'
import { Tally } from './tally.ts'

interface Span {
  readonly from: number
  readonly to: number
  readonly workers: number
}

function readArgs(args: readonly string[]): Span {
  const value = (name: string): string | undefined => args[args.indexOf(name) + 1 || args.length]
  const workers = Number(value('--workers') ?? availableParallelism())
  const seed = value('--seed')
  if (seed !== undefined) return { from: Number(seed), to: Number(seed), workers: 1 }
  const seeds = /^(\d+)\.\.(\d+)$/.exec(value('--seeds') ?? '')
  if (seeds !== null) return { from: Number(seeds[1]), to: Number(seeds[2]), workers }
  const from = 1_000_000 + Math.floor(Math.random() * 1_000_000_000)
  return { from, to: from + 1_999, workers }
}

async function runSeeds(from: number, to: number, step: number, traced = false): Promise<Tally> {
  const tally = new Tally()
  for (let seed = from; seed <= to; seed += step) {
    const outcome = await play(seed, traced ? (at, what) => console.log(at.toFixed(1).padStart(10), what) : null)
    tally.add(outcome)
    if (outcome.violation !== null) break
  }
  return tally
}

async function runWorkers({ from, to, workers }: Span): Promise<Tally> {
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

process.on('unhandledRejection', (reason) => {
  console.error('a rejection was left unhandled:', reason)
  process.exit(1)
})

const args = process.argv.slice(2)
if (args[0] === '--part') {
  const [from, to, step] = args.slice(1).map(Number) as [number, number, number]
  const tally = await runSeeds(from, to, step)
  process.send?.(tally.toJSON())
  process.disconnect?.()
} else {
  const span = readArgs(args)
  const started = performance.now()
  const tally =
    span.workers > 1 ? await runWorkers(span) : await runSeeds(span.from, span.to, 1, args.includes('--trace'))
  console.log(tally.report((performance.now() - started) / 1_000))
  process.exitCode = tally.violations.length > 0 ? 1 : 0
}
