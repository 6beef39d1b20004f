/**
 * Simulates Redlock: `npm run simulate:redlock -- [--seeds 1..2000 | --seed 17 [--trace]]`; without either, 1 000 fresh
 * ones. Exits 1 at the first violation and prints the one command that replays it.
 */
import { failOnUnhandled } from '../locks/seeds.ts'
import { runAlone } from '../locks/tally.ts'
import { play } from './scenario.ts'

failOnUnhandled()
// Clients that were not given all servers are warned, thousands of times.
process.removeAllListeners('warning')
await runAlone('simulate:redlock', play, process.argv.slice(2))
