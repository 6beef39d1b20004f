/** `npm run bench`: measures, prints, keeps, judges. Started by scripts/bench.js, which builds the library first. */
import { adapters } from './adapters/index.js'
import { bars } from './bars.js'
import { judge } from './judge.js'
import { isInstalled } from './load.js'
import { HELP, readOptions } from './options.js'
import { barsReport, scenarioReport } from './report.js'
import { conditions, keep } from './results.js'
import { runRounds } from './rounds.js'
import { writePage } from './page.js'

/** @typedef {ReturnType<typeof readOptions>} Options */
/** @typedef {import('./scenario.ts').Store} Store */

/** Scenarios that are not about locks. */
const KIT = ['limiter', 'ids']

let isBroken = false

/** @param {Options} options @param {Store} store @param {import('./scenario.ts').Scenario} scenario */
function contestants({ named, peers, setting }, store, scenario) {
  return (named ?? adapters).filter(
    (adapter) =>
      (adapter.store === '*' || adapter.store === store.scheme) &&
      (named !== undefined || peers || adapter.role !== 'peer') &&
      (adapter.only?.includes(scenario.name) ?? (adapter.kit === true || !KIT.includes(scenario.name))) &&
      (scenario.suits?.(adapter, { store, ...setting }) ?? true),
  )
}

/** @param {Options} options @param {Store} store @param {import('./scenario.ts').Scenario} scenario */
async function measure(options, store, scenario) {
  const invited = contestants(options, store, scenario)
  const missing = invited.filter(({ packages = [] }) => !packages.every((name) => isNative(name) || isInstalled(name)))
  const present = invited.filter((adapter) => !missing.includes(adapter))
  if (present.length === 0) return null
  const rounds = scenario.rounds?.(options.rounds) ?? options.rounds
  const all = await runRounds(scenario, present, { store, ...options.setting }, rounds, (round, adapter) => {
    progress(`${store.scheme} · ${scenario.name} · round ${round + 1} of ${rounds} · ${adapter.name}`)
  })
  progress('')
  const base = store.bases.map((name) => all.find(({ adapter }) => adapter.name === name)).find((series) => series)
  const section = scenario.name === 'contended' ? `, critical section ${options.setting.sectionMs} ms` : ''
  console.log(`\n## ${store.scheme}: ${scenario.title}${section} (${rounds} rounds)\n`)
  console.log(scenarioReport(scenario, all, base))
  for (const { name } of missing) console.log(`\n${name} was not run: its packages are missing (--peers installs them)`)
  isBroken ||= all.some(({ failure }) => failure !== undefined)
  return { store, scenario, all }
}

/** The engine inside Node, if Node has that engine. @param {string} name */
function isNative(name) {
  return name === 'libsql' && !process.versions.node.startsWith('20.')
}

/** @param {string} text */
function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`)
}

async function main() {
  const options = readOptions(process.argv.slice(2))
  if (options.help) {
    console.log(HELP)
    return
  }
  if (options.charts) {
    for (const file of await writePage()) console.log(file)
    return
  }
  const about = conditions()
  console.log(`${about.command}\n${about.at}, commit ${about.commit}, Node ${about.node}, ${about.machine.cores} cores`)
  /** @type {{ store: Store, scenario: import('./scenario.ts').Scenario, all: import('./scenario.ts').Series[] }[]} */
  const measured = []
  for (const store of options.stores) {
    for (const scenario of options.scenarios) {
      const result = await measure(options, store, scenario)
      if (result !== null) measured.push(result)
    }
  }
  const judged = bars.flatMap((bar) => {
    const result = measured.find(({ store, scenario }) => store.scheme === bar.store && scenario.name === bar.scenario)
    // A case that this run was not asked for is not missing.
    const isAsked = result?.all.some(({ rounds }) => rounds.some((round) => bar.case in round)) ?? false
    return result === undefined || !isAsked ? [] : [judge(bar, result.all, result.scenario)]
  })
  if (judged.length > 0) console.log(`\n## Bars\n\n${barsReport(judged)}`)
  if (isBroken) process.exitCode = 1
  if (options.discard) return
  const file = await keep({
    ...about,
    sectionMs: options.setting.sectionMs,
    measured: measured.map(({ store, scenario, all }) => ({
      store: store.scheme,
      scenario: scenario.name,
      series: all.map(({ adapter, ...series }) => ({ adapter: adapter.name, ...series })),
    })),
    bars: judged,
  })
  console.log(`\nkept in ${file}`)
}

try {
  await main()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 64
}
