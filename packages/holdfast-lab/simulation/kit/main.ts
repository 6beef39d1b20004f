/**
 * Simulates rate limits and jobs: `npm run simulate:kit -- [--seeds 1..2000 | --seed 17 [--trace]]`; without either, 1
 * 000 fresh ones. Even seeds are rate limits in batches on a slow store, odd ones jobs with outages at the tick and
 * wrong clocks. Exits 1 at the first violation and prints the one command that replays it.
 */
import { Rng } from '../locks/rng.ts'
import { failOnUnhandled } from '../locks/seeds.ts'
import { runAlone } from '../locks/tally.ts'
import { playJobs } from './jobs.ts'
import { playLimits } from './limits.ts'

failOnUnhandled()
await runAlone(
  'simulate:kit',
  (seed, onNote) => (seed % 2 === 0 ? playLimits : playJobs)(seed, new Rng(seed), onNote),
  process.argv.slice(2),
)
