/**
 * Simulates Redlock: `npm run simulate:redlock -- [--seeds 1..2000 | --seed 17 [--trace]]`; without either, 1 000 fresh
 * ones. Exits 1 at the first violation and prints the one command that replays it.
 */
import { Tally } from '../locks/tally.ts'
import { play } from './scenario.ts'

function readSpan(args: readonly string[]): { readonly from: number; readonly to: number } {
  const value = (name: string): string | undefined => args[args.indexOf(name) + 1 || args.length]
  const seed = value('--seed')
  if (seed !== undefined) return { from: Number(seed), to: Number(seed) }
  const seeds = /^(\d+)\.\.(\d+)$/.exec(value('--seeds') ?? '')
  if (seeds !== null) return { from: Number(seeds[1]), to: Number(seeds[2]) }
  const from = 1_000_000 + Math.floor(Math.random() * 1_000_000_000)
  return { from, to: from + 999 }
}

process.on('unhandledRejection', (reason) => {
  console.error('a rejection was left unhandled:', reason)
  process.exit(1)
})

// Clients that were not given all servers are warned, thousands of times.
process.removeAllListeners('warning')

const args = process.argv.slice(2)
const { from, to } = readSpan(args)
const trace = args.includes('--trace')
const started = performance.now()
const tally = new Tally()
for (let seed = from; seed <= to && tally.violations.length === 0; seed++) {
  tally.add(await play(seed, trace ? (at, what) => console.log(at.toFixed(1).padStart(10), what) : null))
}
const report = tally.report((performance.now() - started) / 1_000)
console.log(report.replaceAll('npm run simulate ', 'npm run simulate:redlock '))
process.exitCode = tally.violations.length > 0 ? 1 : 0
