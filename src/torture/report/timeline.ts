/** Draws a run: holds by line, faults across, violations marked. */
import type { Judgement } from '../checker/judge.ts'
import type { Hold } from '../checker/trial.ts'
import { escapeHtml } from './page.ts'

const LEFT = 150
const TOP = 56
/** Names of faults that follow each other closely stand in rows below each other. */
const LABEL_ROWS = 3
const BAND_TOP = 38
const LANE = 12
const GAP = 10
/** Bars beyond this many are thinned out, save those near a finding. */
const BARS_MAX = 6_000
const COLOURS = ['#1f77b4', '#2ca02c', '#9467bd', '#8c564b', '#17becf', '#bcbd22', '#7f7f7f', '#e377c2']

export function timeline({ trial, violations, exposures }: Judgement): string {
  const seconds = Math.max(1, (trial.end - trial.start) / 1e6)
  const scale = Math.min(120, 16_000 / seconds)
  const width = LEFT + seconds * scale + 20
  const x = (t: number): number => LEFT + ((Math.min(t, trial.end) - trial.start) / 1e6) * scale
  const parts: string[] = []
  const processes = [...new Set(trial.holds.map(({ p }) => base(p)))].toSorted()
  const lane = (p: string): number => processes.indexOf(base(p))
  const height = (lanes: number): number => lanes * LANE + GAP
  let y = TOP
  const rows = new Map<string, number>()
  for (const { spec } of trial.lines.values()) {
    rows.set(spec.name, y)
    parts.push(`<text x="6" y="${y + 10}">${escapeHtml(spec.name.split(':').at(-1) ?? '')}</text>`)
    for (const [at, p] of processes.entries())
      parts.push(`<text x="110" y="${y + at * LANE + 9}" class="dim">${p}</text>`)
    y += height(processes.length)
    parts.push(`<line class="grid" x1="0" x2="${width}" y1="${y - GAP / 2}" y2="${y - GAP / 2}"/>`)
  }
  const bands = trial.faults.map((fault, at) => {
    const end = Number.isFinite(fault.to) && fault.to > fault.t ? fault.to : fault.t
    const title = `${fault.nemesis} ${fault.target}, ${((end - fault.t) / 1_000).toFixed(0)} ms`
    return `<rect class="${fault.forgets ? 'forget' : 'fault'}" x="${r(x(fault.t))}" y="${BAND_TOP}" width="${r(Math.max(2, x(end) - x(fault.t)))}" height="${y - BAND_TOP}"><title>${escapeHtml(title)}</title></rect><text x="${r(x(fault.t))}" y="${11 + (at % LABEL_ROWS) * 11}">${escapeHtml(fault.nemesis)}</text>`
  })
  const every = Math.ceil(trial.holds.length / BARS_MAX)
  const bars = trial.holds.filter((_, at) => at % every === 0).map((hold) => bar(hold))
  function bar(hold: Hold): string {
    const top = (rows.get(hold.line) ?? TOP) + Math.max(0, lane(hold.p)) * LANE
    const end = Number.isFinite(hold.ended) ? hold.ended : trial.end
    const title = `${hold.p} ${hold.exclusive ? 'alone' : `weight ${hold.weight}`}, token ${hold.token ?? 'none'}, ${((end - hold.granted) / 1_000).toFixed(1)} ms${hold.lostAt === null ? '' : ', lost'}`
    return `<rect x="${r(x(hold.granted))}" y="${top}" width="${r(Math.max(0.6, x(end) - x(hold.granted)))}" height="${LANE - 3}" fill="${COLOURS[lane(hold.p) % COLOURS.length]}" opacity="${hold.exclusive ? 0.95 : 0.5}"><title>${escapeHtml(title)}</title></rect>`
  }
  const marks = [
    ...exposures.map((finding) => ({ finding, soft: true })),
    ...violations.map((finding) => ({ finding, soft: false })),
  ]
    .slice(-BARS_MAX)
    .map(({ finding: { line, at, rule, message }, soft }) => {
      const top = rows.get(line) ?? TOP
      return `<path class="${soft ? 'soft' : 'mark'}" d="M${r(x(at))} ${top - 2}l-5 -8h10z"><title>${escapeHtml(`${rule}: ${message}`)}</title></path>`
    })
  const step = seconds > 120 ? 30 : seconds > 30 ? 5 : 1
  const ticks: string[] = []
  for (let s = 0; s <= seconds; s += step) {
    const at = r(x(trial.start + s * 1e6))
    ticks.push(
      `<line class="grid" x1="${at}" x2="${at}" y1="${BAND_TOP}" y2="${y}"/><text x="${at}" y="${y + 12}">${s} s</text>`,
    )
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${Math.ceil(width)}" height="${y + 20}" role="img">${ticks.join('')}${parts.join('')}${bands.join('')}${bars.join('')}${marks.join('')}</svg>`
}

function base(p: string): string {
  return p.split('.')[0] ?? p
}

function r(value: number): string {
  return value.toFixed(1)
}
