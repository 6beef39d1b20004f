/** The command line of the bench. */
import { parseArgs } from 'node:util'
import { adapters } from './adapters/index.js'
import { scenarios } from './scenarios/index.js'
import { storeOf } from './stores.js'

export const HELP = `npm run bench -- [options]

  --store S[,S]      memory, sqlite, or a store's URL (default memory)
  --scenario N[,N]   ${scenarios.map(({ name }) => name).join(', ')} (default all)
  --peers            other libraries, too; their packages are installed in bench/ when they are missing
  --adapter A[,A]    only these: ${adapters.map(({ name }) => name).join(', ')}
  --section MS       length of a critical section in 'contended' (default 0)
  --use U            'uncontended' by locks that are 'reused', made 'fresh' for every call, or 'both' (default)
  --held N           locks of 'holds', up to 1 000 000 (default: by store)
  --cell S           seconds that one size of 'growth' may take; larger ones are left out (default 60)
  --rounds N         default 9
  --quick            3 rounds: a look, not a figure
  --testbed S[,S]    starts these servers first, and measures them: redis, redlock, etcd, zookeeper, postgres, mariadb
  --no-build         measure dist as it is
  --discard          keep no JSON
  --charts           measure nothing: make the charts and the tables of docs/explain/performance.md anew
  --help

Every round runs each adapter once, in new processes. Tables show medians; ratios are taken round by round, and shown
with their middle half. The exit code is 0 unless something broke: a missed bar is a figure, not a failure.
`

/** @param {readonly string[]} args */
export function readOptions(args) {
  const { values } = parseArgs({
    args: [...args],
    strict: true,
    options: {
      store: { type: 'string', default: 'memory' },
      scenario: { type: 'string', default: scenarios.map(({ name }) => name).join(',') },
      adapter: { type: 'string' },
      peers: { type: 'boolean', default: false },
      section: { type: 'string', default: '0' },
      use: { type: 'string', default: 'both' },
      held: { type: 'string' },
      cell: { type: 'string', default: '60' },
      rounds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      testbed: { type: 'string' }, // read by scripts/bench.js
      'no-build': { type: 'boolean', default: false }, // read by scripts/bench.js
      discard: { type: 'boolean', default: false },
      charts: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  return {
    stores: storesIn(values.store).map(storeOf),
    scenarios: values.scenario.split(',').map((name) => pick('--scenario', scenarios, name)),
    named: values.adapter?.split(',').map((name) => pick('--adapter', adapters, name)),
    peers: values.peers,
    setting: {
      sectionMs: count('--section', values.section, 0),
      uses: usesOf(values.use),
      held: values.held === undefined ? null : count('--held', values.held, 1),
      cellMs: count('--cell', values.cell, 1) * 1_000,
    },
    rounds: values.rounds === undefined ? (values.quick ? 3 : 9) : count('--rounds', values.rounds, 1),
    discard: values.discard,
    charts: values.charts,
    help: values.help,
  }
}

/** @param {string} text @returns {readonly ('reused' | 'fresh')[]} */
function usesOf(text) {
  if (text === 'both') return ['reused', 'fresh']
  if (text === 'reused' || text === 'fresh') return [text]
  throw new Error(`--use ${text}: there are reused, fresh, both`)
}

/** A URL may name several hosts with commas between them. @param {string} text */
function storesIn(text) {
  return text.split(text.includes('://') ? /,(?=[a-z+]+:\/\/)/ : ',')
}

/**
 * @template {{ readonly name: string }} T
 * @param {string} option
 * @param {readonly T[]} all
 * @param {string} name
 */
function pick(option, all, name) {
  const found = all.find((one) => one.name === name)
  if (found === undefined) {
    throw new Error(`${option} ${name}: there are ${all.map((one) => one.name).join(', ')}`)
  }
  return found
}

/** @param {string} option @param {string} text @param {number} least */
function count(option, text, least) {
  const number = Number(text)
  if (!Number.isInteger(number) || number < least) {
    throw new Error(`${option} ${text}: must be a whole number of at least ${least}`)
  }
  return number
}
