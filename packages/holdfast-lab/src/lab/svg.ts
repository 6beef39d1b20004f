/** Draws a timeline as SVG: one row for each client, a line for each moment, and where more than one held at once. */
import { escapeHtml } from '../torture/report/page.ts'
import { makeScale } from './scale.ts'
import { overlaps, type Timeline } from './timeline.ts'

const LEFT = 120
const TOP = 24
const ROW = 22
const COLUMN = 8
/** In columns; a page is scrolled where it is not wide enough. */
const WIDTH_MAX = 140

export function svg(timeline: Timeline): string {
  const { rows, spans, moments } = timeline
  const scale = makeScale(timeline, WIDTH_MAX)
  const x = (ms: number): number => LEFT + scale.column(ms) * COLUMN
  const y = (row: string): number => TOP + rows.indexOf(row) * ROW
  const bottom = TOP + rows.length * ROW
  const right = LEFT + scale.width * COLUMN
  const crowd = overlaps(spans)
  const bands = crowd.map(
    ({ fromMs, toMs, count }) =>
      `<rect class="crowd" x="${x(fromMs)}" y="${TOP - 4}" width="${Math.max(3, x(toMs) - x(fromMs))}" ` +
      `height="${bottom - TOP + 8}"><title>${count} hold at once</title></rect>`,
  )
  const names = rows.map((row) => {
    const top = y(row)
    return (
      `<text x="6" y="${top + 14}">${escapeHtml(row)}</text><line class="grid" x1="0" x2="${right}" ` +
      `y1="${top + ROW - 2}" y2="${top + ROW - 2}"/>`
    )
  })
  // A stop is drawn over the hold that it interrupts.
  const bars = (['wait', 'hold', 'stopped', 'down'] as const).flatMap((kind) =>
    spans
      .filter((span) => span.kind === kind)
      .map(({ row, fromMs, toMs }) => {
        const title = `${row}: ${kind}, ${Math.round(fromMs)} to ${Math.round(toMs)} ms`
        return (
          `<rect class="${kind}" x="${x(fromMs)}" y="${y(row) + 3}" width="${Math.max(3, x(toMs) - x(fromMs))}" ` +
          `height="${ROW - 8}"><title>${escapeHtml(title)}</title></rect>`
        )
      }),
  )
  const marks = moments.map(({ row, kind, atMs, text }, i) => {
    const at = scale.step === null ? x(atMs) : LEFT + i * scale.step * COLUMN
    const title = `<title>${escapeHtml(`${Math.round(atMs)} ms, ${row}: ${text}`)}</title>`
    const number = scale.step === null ? '' : `<text class="number" x="${at}" y="12">${i + 1}</text>`
    const line = scale.step === null ? '' : `<line class="tick" x1="${at}" x2="${at}" y1="16" y2="${bottom}"/>`
    const dot = kind === 'step' && scale.step === null ? '' : circle(at, y(row) + ROW / 2 - 1, kind, title)
    return `${line}${number}${dot}`
  })
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${right + 20}" height="${bottom + 10}" ` +
    `role="img">${bands.join('')}${names.join('')}${bars.join('')}${marks.join('')}</svg>`
  )
}

function circle(cx: number, cy: number, kind: string, title: string): string {
  return `<circle class="at-${kind}" cx="${cx}" cy="${cy}" r="${kind === 'step' ? 3 : 6}">${title}</circle>`
}
