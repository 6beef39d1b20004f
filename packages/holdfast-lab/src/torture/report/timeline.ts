/** Draws a run: holds by line, faults across, violations marked. */
import type { Judgement } from '../checker/judge.ts'
import type { Hold, Trial } from '../checker/trial.ts'
import { escapeHtml } from './page.ts'

/** Names stand beside the drawing, and stay when it is scrolled. */
const NAMES = 132
const PROCESS = 104
const PAD = 8
/**
 * Names of faults that follow each other closely stand in rows below each other; where there is no room they are left
 * to the pointer.
 */
const LABEL_ROWS = 4
const LABEL = 12
const CHAR = 6.4
const TOP = LABEL_ROWS * LABEL + 18
const BAND_TOP = LABEL_ROWS * LABEL + 4
const LANE = 12
const GAP = 14
/** Bars beyond this many are thinned out, save those with whose grant something was wrong. */
const BARS_MAX = 6_000
/** Each is told from the others, and from both papers. */
const COLOURS = ['#3b82c4', '#2f9e44', '#9467bd', '#b0695a', '#15aabf', '#a8a023', '#868e96', '#d6609b']

export function timeline(judgement: Judgement): string {
  const { trial, violations, exposures } = judgement
  const seconds = Math.max(1, (trial.end - trial.start) / 1e6)
  const scale = Math.min(120, 16_000 / seconds)
  const x = (t: number): number => PAD + ((Math.min(t, trial.end) - trial.start) / 1e6) * scale
  const rows = new Rows(trial)
  const { bands, right } = drawFaults(trial, x, rows.bottom)
  const width = Math.ceil(Math.max(x(trial.end) + 24, right + PAD))
  const marks = [
    ...exposures.map((finding) => ({ finding, kind: 'soft' })),
    ...violations.map((finding) => ({ finding, kind: 'mark' })),
  ].map(({ finding: { line, at, rule, message }, kind }) => {
    const top = rows.top(line)
    return (
      `<path class="${kind}" d="M${r(x(at))} ${top - 1}l-4 ` +
      `-7h8z"><title>${escapeHtml(`${rule}: ${message}`)}</title></path>`
    )
  })
  const step = seconds > 120 ? 30 : seconds > 30 ? 5 : 1
  const ticks: string[] = []
  for (let s = 0; s <= seconds; s += step) {
    const at = r(x(trial.start + s * 1e6))
    ticks.push(
      `<line class="grid" x1="${at}" x2="${at}" y1="${BAND_TOP}" y2="${rows.bottom}"/><text x="${at}" ` +
        `y="${rows.bottom + 13}">${s} s</text>`,
    )
  }
  const height = rows.bottom + 20
  const every = Math.ceil(trial.holds.length / BARS_MAX)
  const wrong = new Set([...exposures, ...violations].map(({ at }) => at))
  const shown = trial.holds.filter(({ granted }, at) => at % every === 0 || wrong.has(granted))
  const bars = shown.map((hold) => drawHold(hold, trial, rows, x))
  const drawn = [...ticks, ...rows.rules(width), ...bands, ...bars, ...marks.slice(-BARS_MAX)].join('')
  return (
    `<div class="timeline">${svg(NAMES, height, rows.names(), 'the lines and their clients')}<div ` +
    `class="scroll">${svg(width, height, drawn, 'holds, faults and violations over time')}</div></div>`
  )
}

function svg(width: number, height: number, inside: string, label: string): string {
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" role="img" ` +
    `aria-label="${label}">${inside}</svg>`
  )
}

/** Where each line and each of its clients is drawn. */
class Rows {
  readonly processes: readonly string[]
  readonly bottom: number
  readonly #tops = new Map<string, number>()

  constructor(trial: Trial) {
    this.processes = [...new Set(trial.holds.map(({ p }) => base(p)))].toSorted()
    let y = TOP
    for (const name of trial.lines.keys()) {
      this.#tops.set(name, y)
      y += this.processes.length * LANE + GAP
    }
    this.bottom = y
  }

  top(line: string): number {
    return this.#tops.get(line) ?? TOP
  }

  names(): string {
    const parts: string[] = []
    for (const [name, y] of this.#tops) {
      parts.push(`<text x="2" y="${y + 9}">${escapeHtml(name.split(':').at(-1) ?? '')}</text>`)
      for (const [at, p] of this.processes.entries()) {
        const colour = COLOURS[at % COLOURS.length]
        parts.push(
          `<rect x="${PROCESS - 12}" y="${y + at * LANE + 1}" width="7" height="7" fill="${colour}"/><text ` +
            `x="${PROCESS}" y="${y + at * LANE + 9}">${p}</text>`,
        )
      }
    }
    return parts.join('')
  }

  rules(width: number): string[] {
    return [...this.#tops.values()].map((y) => {
      const at = y + this.processes.length * LANE + 2
      return `<line class="grid" x1="0" x2="${width}" y1="${at}" y2="${at}"/>`
    })
  }
}

/** Bands across all lines, each with its name above where there is room for it. */
function drawFaults(
  trial: Trial,
  x: (t: number) => number,
  bottom: number,
): { readonly bands: string[]; readonly right: number } {
  const ends = Array.from({ length: LABEL_ROWS }, () => 0)
  const bands = trial.faults.map((fault) => {
    const end = Number.isFinite(fault.to) && fault.to > fault.t ? fault.to : fault.t
    const title = escapeHtml(`${fault.nemesis} ${fault.target}, ${((end - fault.t) / 1_000).toFixed(0)} ms`)
    const left = x(fault.t)
    const row = ends.findIndex((taken) => taken < left)
    if (row >= 0) ends[row] = left + fault.nemesis.length * CHAR + 6
    const text =
      row < 0
        ? ''
        : `<text x="${r(left)}" y="${(row + 1) * LABEL - 1}">${escapeHtml(fault.nemesis)}<title>${title}</title></text>`
    return (
      `<rect class="${fault.forgets ? 'forget' : 'fault'}" x="${r(left)}" y="${BAND_TOP}" ` +
      `width="${r(Math.max(2, x(end) - left))}" height="${bottom - BAND_TOP}"><title>${title}</title></rect>${text}`
    )
  })
  return { bands, right: Math.max(...ends) }
}

function drawHold(hold: Hold, trial: Trial, rows: Rows, x: (t: number) => number): string {
  const lane = Math.max(0, rows.processes.indexOf(base(hold.p)))
  const end = Number.isFinite(hold.ended) ? hold.ended : trial.end
  const title =
    `${hold.p} ${hold.exclusive ? 'alone' : `weight ${hold.weight}`}, token ${hold.token ?? 'none'}, ` +
    `${((end - hold.granted) / 1_000).toFixed(1)} ms${hold.lostAt === null ? '' : ', lost'}`
  return (
    `<rect x="${r(x(hold.granted))}" y="${rows.top(hold.line) + lane * LANE}" ` +
    `width="${r(Math.max(0.6, x(end) - x(hold.granted)))}" height="${LANE - 3}" ` +
    `fill="${COLOURS[lane % COLOURS.length]}" ` +
    `opacity="${hold.exclusive ? 0.95 : 0.5}"><title>${escapeHtml(title)}</title></rect>`
  )
}

function base(p: string): string {
  return p.split('.')[0] ?? p
}

function r(value: number): string {
  return value.toFixed(1)
}
