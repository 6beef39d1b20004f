/** Turns rounds into medians, ratios and verdicts. */
import { spread } from './stats.js'

/** @typedef {import('./scenario.ts').Series} Series */
/** @typedef {{ median: number, p25: number, p75: number }} Spread */
/** @typedef {'reached' | 'missed' | 'unresolved' | 'not measured'} Verdict */
/** @typedef {import('./bars.js').Bar & { figure: Spread | null, verdict: Verdict }} JudgedBar */

/**
 * One figure per round.
 *
 * @param {Series} series
 * @param {string} name of the case
 * @param {string} metric
 */
export function figures(series, name, metric) {
  return series.rounds.map((round) => round[name]?.[metric] ?? Number.NaN)
}

/**
 * Ratios are taken round by round: what slows a whole round down cancels out.
 *
 * @param {Series} series
 * @param {Series} base
 * @param {string} name of the case
 * @param {string} metric
 */
export function ratio(series, base, name, metric) {
  const below = figures(base, name, metric)
  return spread(figures(series, name, metric).map((figure, round) => figure / (below[round] ?? Number.NaN)))
}

/** @param {Spread} ratio @param {'more' | 'less' | undefined} better */
export function compare(ratio, better) {
  if (Number.isNaN(ratio.median)) return ''
  if (ratio.p25 <= 1 && ratio.p75 >= 1) return 'unresolved'
  if (better === undefined) return ratio.p25 > 1 ? 'more' : 'less'
  return ratio.p25 > 1 === (better === 'more') ? 'better' : 'worse'
}

/**
 * @param {import('./bars.js').Bar} bar
 * @param {readonly Series[]} all of the bar's store and scenario
 * @param {import('./scenario.ts').Scenario} scenario
 * @returns {JudgedBar}
 */
export function judge(bar, all, scenario) {
  const series = all.find(({ adapter }) => adapter.name === (bar.adapter ?? 'holdfast'))
  const base = bar.of === undefined ? undefined : baseOf(bar, all, scenario)
  if (series === undefined || (bar.of !== undefined && base === undefined)) {
    return { ...bar, figure: null, verdict: 'not measured' }
  }
  const figure = base ? ratio(series, base, bar.case, bar.metric) : spread(figures(series, bar.case, bar.metric))
  return { ...bar, figure, verdict: verdict(figure, bar) }
}

/** @param {Spread} figure @param {import('./bars.js').Bar} bar @returns {Verdict} */
function verdict({ median, p25, p75 }, { atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY }) {
  if (Number.isNaN(median)) return 'not measured'
  if (p25 >= atLeast && p75 <= atMost) return 'reached'
  if (p75 < atLeast || p25 > atMost) return 'missed'
  return 'unresolved'
}

/**
 * @param {import('./bars.js').Bar} bar
 * @param {readonly Series[]} all
 * @param {import('./scenario.ts').Scenario} scenario
 * @returns {Series | undefined}
 */
function baseOf(bar, all, scenario) {
  if (bar.of !== 'best peer') return all.find(({ adapter }) => adapter.name === bar.of)
  const peers = all.filter(({ adapter }) => adapter.role === 'peer')
  const [first] = peers
  if (first === undefined) return undefined
  const isLess = scenario.metrics.find(({ key }) => key === bar.metric)?.better === 'less'
  const rounds = first.rounds.map((_, round) => {
    const known = peers.map((peer) => figures(peer, bar.case, bar.metric)[round] ?? Number.NaN)
    const best = known.filter((figure) => !Number.isNaN(figure)).sort((a, b) => (isLess ? a - b : b - a))[0]
    return { [bar.case]: { [bar.metric]: best ?? Number.NaN } }
  })
  return { adapter: first.adapter, rounds }
}
