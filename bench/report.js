/** Tables for people: aligned text that is also Markdown. */
import { compare, figures, ratio } from './judge.js'
import { spread } from './stats.js'

/** @typedef {import('./scenario.ts').Series} Series */

/** @param {number} value */
export function shown(value) {
  if (Number.isNaN(value)) return '–'
  const size = Math.abs(value)
  if (size >= 100) return Math.round(value).toLocaleString('en')
  return String(Number(value.toPrecision(size >= 1 ? 3 : 2)))
}

/** @param {{ median: number, p25: number, p75: number }} spread */
export function shownSpread({ median, p25, p75 }) {
  if (Number.isNaN(median)) return '–'
  return p25 === p75 ? shown(median) : `${shown(median)} (${shown(p25)}–${shown(p75)})`
}

/**
 * @param {readonly (readonly string[])[]} rows the first one is the head; the first column is text, the others numbers
 */
export function table(rows) {
  const [head = []] = rows
  const widths = head.map((_, column) => Math.max(3, ...rows.map((row) => (row[column] ?? '').length)))
  const line = (/** @type {readonly string[]} */ row) =>
    `| ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join(' | ')} |`
  const dashes = widths.map((width, i) => (i === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))
  const rule = `| ${dashes.join(' | ')} |`
  return [line(head), rule, ...rows.slice(1).map(line)].join('\n')
}

/**
 * @param {import('./scenario.ts').Scenario} scenario
 * @param {readonly Series[]} all
 * @param {Series | undefined} base
 */
export function scenarioReport(scenario, all, base) {
  const cases = [...new Set(all.flatMap(({ rounds }) => rounds.flatMap((round) => Object.keys(round))))]
  const [lead] = scenario.metrics
  const blocks = cases.map((name) => {
    const hasRatio = base !== undefined && figures(base, name, lead?.key ?? '').some((figure) => !Number.isNaN(figure))
    const metrics = scenario.metrics.filter(({ key }) =>
      all.some((series) => figures(series, name, key).some((figure) => !Number.isNaN(figure))),
    )
    const rows = all
      .filter(({ rounds }) => rounds.some((round) => name in round))
      .map((series) => {
        const medians = metrics.map(({ key }) => shown(spread(figures(series, name, key)).median))
        if (!hasRatio || lead === undefined) return [series.adapter.name, ...medians]
        if (series === base) return [series.adapter.name, ...medians, '1', 'base']
        const against = ratio(series, base, name, lead.key)
        return [series.adapter.name, ...medians, shownSpread(against), compare(against, lead.better)]
      })
    const ratioHead = !hasRatio ? [] : [`${lead?.title} of ${base.adapter.name}`, '']
    return `${name}\n\n${table([['adapter', ...metrics.map(({ title }) => title), ...ratioHead], ...rows])}`
  })
  const failed = all.filter(({ failure }) => failure !== undefined)
  return [
    ...blocks,
    ...failed.map(({ adapter, failure }) => `${adapter.name} failed: ${failure?.split('\n')[0]}`),
  ].join('\n\n')
}

/** @param {readonly import('./judge.js').JudgedBar[]} bars */
export function barsReport(bars) {
  const rows = bars.map((bar) => [
    `${bar.store}, ${bar.scenario} ${bar.case}, ${bar.adapter ?? 'holdfast'}: ` +
      `${bar.metric}${bar.of ? ` of ${bar.of}` : ''}`,
    bar.atLeast === undefined ? `at most ${bar.atMost}` : `at least ${bar.atLeast}`,
    bar.figure === null ? '–' : shownSpread(bar.figure),
    bar.verdict,
  ])
  return table([['bar', 'must be', 'is (p25–p75)', 'verdict'], ...rows])
}
