/**
 * Makes docs/explain/performance.md and its charts of the committed run: `npm run bench -- --charts`. All figures of
 * the page stand between its marks, and none is written by hand.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { adapters } from './adapters/index.js'
import { barChart, lineChart } from './charts.js'
import { figures, ratio } from './judge.js'
import { measuredOf, readRun } from './kept-run.js'
import { shown, shownSpread, table } from './report.js'
import { spread } from './stats.js'
import { storeOf } from './stores.js'

/** @typedef {import('./kept-run.js').Part} Part */
/** @typedef {import('./kept-run.js').Measured} Measured */
/** @typedef {import('./scenario.ts').Series} Series */

const PAGE = new URL('../docs/explain/performance.md', import.meta.url)
const IMAGES = new URL('../docs/images/', import.meta.url)
const BEGIN = '<!-- figures begin; written by npm run bench -- --charts -->'
const END = '<!-- figures end -->'
/** In the order in which they are shown. */
const CASES = ['c=1', 'c=1 fresh', 'c=16', 'c=16 fresh', 'c=256', 'c=256 fresh']
const GROWTH_MOST = 1.5

/** The page and its images, by address. @param {readonly Part[]} parts @param {string} page as it is */
export function makePage(parts, page) {
  /** @type {Map<string, string>} */
  const images = new Map()
  const blocks = [
    conditions(parts),
    ...measuredOf(parts, 'uncontended').flatMap((one) => pairsBlock(one, images)),
    ...measuredOf(parts, 'contended').flatMap((one) => contendedBlock(one, images)),
    ...simpleBlocks(parts),
    ...growthBlocks(parts, images),
    '### Every bar',
    ...barTables(parts),
    '### Where others are faster',
    losses(parts),
  ]
  const [before = '', rest = ''] = page.split(BEGIN)
  const after = rest.split(END)[1] ?? ''
  return { text: `${before}${BEGIN}\n\n${blocks.join('\n\n')}\n\n${END}${after}`, images }
}

/** @returns {Promise<string[]>} the files that were written */
export async function writePage() {
  const { text, images } = makePage(await readRun(), await readFile(PAGE, 'utf8'))
  await writeFile(PAGE, text)
  for (const [name, image] of images) await writeFile(new URL(name, IMAGES), image)
  return [PAGE.pathname, ...[...images.keys()].map((name) => new URL(name, IMAGES).pathname)]
}

/** @param {readonly Part[]} parts */
function conditions(parts) {
  const [first] = parts
  if (first === undefined) return 'Nothing was measured yet.'
  const { machine, node } = first
  const commits = [...new Set(parts.map(({ commit }) => commit))]
  const loads = parts.map(({ loadBefore }) => loadBefore)
  const versions = Object.entries(Object.assign({}, ...parts.map((part) => part.versions))).filter(([name]) =>
    parts.some((part) => part.measured.some(({ series }) => series.some(({ adapter }) => needs(adapter, name)))),
  )
  const rows = [
    ['machine', `${machine.cpu}, ${machine.cores} cores, Linux ${machine.kernel}`],
    ['software', `Node ${node}, commit ${commits.join(', ')}`],
    ['when', first.at.slice(0, 10)],
    ['load before each part', `${shown(Math.min(...loads))} to ${shown(Math.max(...loads))}`],
    ...versions.map(([name, version]) => [name, String(version)]),
  ]
  // The load is that of the last minute, and so that of the part before, which keeps both cores busy.
  const warning =
    Math.max(...loads) > 2 * machine.cores
      ? '**Other work ran beside this run: its figures show that the page works, and nothing else.**\n\n'
      : ''
  return `### Conditions\n\n${warning}${table([['what', 'which'], ...rows])}`
}

/** Whether the adapter uses that package. @param {string} adapter @param {string} name */
function needs(adapter, name) {
  return adapters.find((one) => one.name === adapter)?.packages?.includes(name) === true
}

/** Growth has tables of its own: here is only what is not reached there. @param {readonly Part[]} parts */
function barTables(parts) {
  const bars = parts
    .flatMap((part) => part.bars)
    .filter(({ scenario, verdict }) => scenario !== 'growth' || verdict !== 'reached')
  return [...new Set(bars.map(({ store }) => store))].map((store) => {
    const rows = bars
      .filter((bar) => bar.store === store)
      .map((bar) => [
        bar.scenario === 'uncontended' || bar.scenario === 'growth' ? bar.case : `${bar.scenario} ${bar.case}`,
        bar.adapter ?? 'holdfast',
        bar.of === undefined ? bar.metric : `${bar.metric} of ${bar.of}`,
        bar.atLeast === undefined ? `≤ ${bar.atMost}` : `≥ ${bar.atLeast}`,
        briefly(bar.figure),
        bar.verdict === 'missed' ? '**missed**' : bar.verdict,
      ])
    return `${store}:\n\n${table([['case', 'adapter', 'figure', 'bar', 'is (p25–p75)', 'verdict'], ...rows])}`
  })
}

/** Thousands as k: a row must fit. @param {import('./judge.js').Spread | null} figure */
function briefly(figure) {
  // A null of the JSON is read as NaN.
  if (figure === null || typeof figure !== 'object' || Number.isNaN(figure.median)) return '–'
  const { median, p25, p75 } = figure
  return median < 10_000
    ? shownSpread(figure)
    : `${[median, p25, p75].map((value) => Math.round(value / 1_000)).join('k, ')}k`
}

/** The adapter whose ratios are shown. @param {Measured} measured */
function baseOf({ store, all }) {
  const { bases } = storeOf(store)
  return bases.map((name) => all.find(({ adapter }) => adapter.name === name)).find((series) => series)
}

/** @param {string} name of a case */
function labelOf(name) {
  const callers = Number(/\d+/.exec(name)?.[0])
  const who = callers === 1 ? '1 caller' : `${callers} callers`
  return name.endsWith('fresh') ? `${who}, a new lock for every call` : who
}

/** @param {Measured} measured @param {Map<string, string>} images */
function pairsBlock(measured, images) {
  const { store, all } = measured
  const base = baseOf(measured)
  if (base === undefined) return []
  const others = all.filter((series) => series !== base && series.rounds.length > 0)
  const groups = CASES.map((name) => ({
    label: labelOf(name),
    bars: others.map((series) => {
      const of = ratio(series, base, name, 'pairsPerS')
      return { label: series.adapter.name, kind: series.adapter.role, ...of, shown: shownSpread(of) }
    }),
  })).map((group) => ({ ...group, bars: group.bars.filter(({ median }) => !Number.isNaN(median)) }))
  const title = `${store}: pairs a second, of ${base.adapter.name}`
  const image = `performance-pairs-${store}.svg`
  const shownGroups = groups.filter(({ bars }) => bars.length > 0)
  images.set(
    image,
    barChart({ title, note: 'More is better. The dashed line: as many.', groups: shownGroups, one: true }),
  )
  const head = ['pairs/s', ...CASES.map((name) => name.replace('c=', ''))]
  const row = (/** @type {Series} */ series) => [
    series.adapter.name,
    ...CASES.map((name) => shown(spread(figures(series, name, 'pairsPerS')).median)),
  ]
  return [`### ${store}: free locks`, `![${title}](../images/${image})`, table([head, ...all.map(row)])]
}

/** @param {Measured} measured @param {Map<string, string>} images */
function contendedBlock({ store, all }, images) {
  const name = 'n=100'
  const ran = all.filter((series) => figures(series, name, 'handoversPerS').some((figure) => !Number.isNaN(figure)))
  if (ran.length === 0) return []
  const bars = ran.map((series) => {
    const rate = spread(figures(series, name, 'handoversPerS'))
    return { label: series.adapter.name, kind: series.adapter.role, ...rate, shown: shown(rate.median) }
  })
  const title = `${store}: hand-overs a second, 100 clients of 4 processes`
  const image = `performance-contended-${store}.svg`
  images.set(image, barChart({ title, note: 'More is better.', groups: [{ label: '', bars }], one: false }))
  const metrics = ['handoversPerS', 'handoverP50Ms', 'jain', 'longestWaitMs', 'callsPerSection', 'overlaps']
  const titles = ['hand-overs/s', 'p50 ms', 'Jain', 'longest wait ms', 'calls/section', 'overlaps']
  const rows = ran.map((series) => [
    series.adapter.name,
    ...metrics.map((metric) => shown(spread(figures(series, name, metric)).median)),
  ])
  return [
    `### ${store}: one lock, 100 clients`,
    `![${title}](../images/${image})`,
    table([['n=100', ...titles], ...rows]),
  ]
}

/** Scenarios that are a table of medians by store. @param {readonly Part[]} parts */
function simpleBlocks(parts) {
  return [
    { scenario: 'kept', title: 'Kept locks', metrics: ['pairsPerS', 'wakeMs', 'handoverMs', 'wakeRatio'] },
    {
      scenario: 'holds',
      title: 'Held locks',
      metrics: ['heapBPerLock', 'storeBPerLock', 'callsPerS', 'delayMs', 'lost'],
    },
    { scenario: 'start', title: 'Starts', metrics: ['ms'] },
  ].flatMap(({ scenario: name, title, metrics }) => {
    const all = measuredOf(parts, name)
    if (all.length === 0) return []
    const titles = metrics.map((key) => all[0]?.scenario.metrics.find((metric) => metric.key === key)?.title ?? key)
    const rows = all.flatMap(({ store, all: series }) =>
      series.flatMap((one) =>
        [...new Set(one.rounds.flatMap((round) => Object.keys(round)))].map((of) => [
          `${store}, ${one.adapter.name}, ${of}`,
          ...metrics.map((metric) => shown(spread(figures(one, of, metric)).median)),
        ]),
      ),
    )
    return [`### ${title}`, table([['store, adapter, case', ...titles], ...rows])]
  })
}

/** @param {readonly Part[]} parts @param {Map<string, string>} images */
function growthBlocks(parts, images) {
  const all = measuredOf(parts, 'growth')
  if (all.length === 0) return []
  const cells = all.flatMap(({ store, all: [series] }) => {
    if (series === undefined) return []
    const names = [...new Set(series.rounds.flatMap((round) => Object.keys(round)))]
    return names.map((name) => {
      const [row = '', size = ''] = name.split(' ')
      const of = spread(figures(series, name, 'ofSmallest')).median
      return { store, row, size: Number(size), of, us: spread(figures(series, name, 'usPerOp')).median }
    })
  })
  const rows = [...new Set(cells.map(({ row }) => row))]
  return rows.flatMap((row) => {
    const own = cells.filter((cell) => cell.row === row)
    const stores = [...new Set(own.map(({ store }) => store))]
    const sizes = [...new Set(own.map(({ size }) => size))].sort((a, b) => a - b)
    const lines = stores.map((store) => ({
      label: store,
      points: own.filter((cell) => cell.store === store).map(({ size, of }) => ({ x: size, y: of })),
    }))
    const title = `Cost of one operation by number of ${row}, of the smallest`
    const image = `performance-growth-${row}.svg`
    images.set(image, lineChart({ title, note: `Dashed: ${GROWTH_MOST} times.`, lines, most: GROWTH_MOST }))
    const text = stores.map((store) => [
      store,
      ...sizes.map((size) => {
        const cell = own.find((one) => one.store === store && one.size === size)
        return cell === undefined ? '–' : `${shown(cell.us)} µs, ${shown(cell.of)} ×`
      }),
    ])
    const head = [row, ...sizes.map((size) => size.toLocaleString('en'))]
    return [`### Growth: ${row}`, `![${title}](../images/${image})`, table([head, ...text])]
  })
}

/** Where a rival was better, with the whole middle half of the rounds. @param {readonly Part[]} parts */
function losses(parts) {
  const rows = [
    ...measuredOf(parts, 'uncontended').map((one) => ({ one, metric: 'pairsPerS' })),
    ...measuredOf(parts, 'contended').map((one) => ({ one, metric: 'handoversPerS' })),
  ].flatMap(({ one: { store, all }, metric }) => {
    const rivals = all.filter(({ adapter }) => adapter.role !== 'ours')
    return all
      .filter(({ adapter }) => adapter.role === 'ours')
      .flatMap((series) =>
        rivals.flatMap((rival) => {
          const cases = [...new Set(series.rounds.flatMap((round) => Object.keys(round)))]
          return cases.flatMap((name) => {
            const of = ratio(series, rival, name, metric)
            return of.p75 < 1 ? [[`${store}, ${name}`, series.adapter.name, rival.adapter.name, shownSpread(of)]] : []
          })
        }),
      )
  })
  if (rows.length === 0) return 'Nowhere in this run.'
  return table([['case', 'ours', 'faster', 'ours of theirs'], ...rows])
}
