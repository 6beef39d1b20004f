/** Draws a timeline as SVG: one row for each client, a line for each moment, and a mark where more than one held. */
import { printable } from 'holdfast/internal'
import { escapeHtml } from '../torture/report/page.ts'
import { makeScale, type Scale } from './scale.ts'
import { type Moment, overlaps, type Timeline } from './timeline.ts'

const LEFT = 120
const TOP = 24
/** The width of a column. */
const UNIT = 8
/** In columns; a narrow window scrolls. */
const WIDTH_MAX = 140
/** With so many rows, the drawing shows a herd as a whole, in thin rows. */
const CROWD = 20
const ROW = 22
const ROW_THIN = 10
/** What a mark says to readers who do not see its colour. */
const SIGNS: Readonly<Record<Moment['kind'], string>> = { step: '', fault: '!', harm: '×', caught: '✓' }

export interface Drawing {
  readonly width: number
  readonly height: number
  /** SVG elements, with classes for a stylesheet. */
  readonly body: string
}

export function svg(timeline: Timeline): string {
  const { width, height, body } = drawing(timeline, WIDTH_MAX)
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" role="img">${body}</svg>`
}

/** @param columns At most so many, of 8 units each. @param unitMax Of a column, where there are few. */
export function drawing(timeline: Timeline, columns: number, unitMax: number = UNIT): Drawing {
  const { rows } = timeline
  const scale = makeScale(timeline, columns)
  const row = rows.length > CROWD ? ROW_THIN : ROW
  const unit = Math.min(unitMax, Math.floor((columns * UNIT) / Math.max(1, scale.width)))
  const right = LEFT + scale.width * unit
  const bottom = TOP + rows.length * row
  const parts = [bands, names, bars, marks].flatMap((part) => part(timeline, { scale, unit, row, right, bottom }))
  return { width: right + 20, height: bottom + 10, body: parts.join('') }
}

/** Where things stand. */
interface Place {
  readonly scale: Scale
  readonly unit: number
  readonly row: number
  readonly right: number
  readonly bottom: number
}

const x = ({ scale, unit }: Place, ms: number): number => LEFT + scale.column(ms) * unit
const y = ({ rows }: Timeline, { row }: Place, name: string): number => TOP + rows.indexOf(name) * row

/** A server's text may contain control characters, and a file with them is not XML. */
function shown(text: string): string {
  return escapeHtml(printable(text))
}

function bands({ spans }: Timeline, place: Place): string[] {
  return overlaps(spans).map(
    ({ fromMs, toMs, count }) =>
      `<rect class="crowd" x="${x(place, fromMs)}" y="${TOP - 4}" ` +
      `width="${Math.max(3, x(place, toMs) - x(place, fromMs))}" ` +
      `height="${place.bottom - TOP + 8}"><title>${count} hold at once</title></rect>`,
  )
}

function names(timeline: Timeline, place: Place): string[] {
  return timeline.rows.map((name) => {
    const top = y(timeline, place, name)
    if (place.row === ROW_THIN) return `<text class="thin" x="6" y="${top + 6}">${shown(name)}</text>`
    const line = `<line class="grid" x1="0" x2="${place.right}" y1="${top + ROW - 2}" y2="${top + ROW - 2}"/>`
    return `<text x="6" y="${top + 14}">${shown(name)}</text>${line}`
  })
}

/** A stop is drawn over the hold that it interrupts. */
function bars(timeline: Timeline, place: Place): string[] {
  const height = place.row === ROW ? ROW - 8 : ROW_THIN - 3
  return (['wait', 'hold', 'stopped', 'down'] as const).flatMap((kind) =>
    timeline.spans
      .filter((span) => span.kind === kind)
      .map(({ row, fromMs, toMs }) => {
        const title = `${row}: ${kind}, ${Math.round(fromMs)} to ${Math.round(toMs)} ms`
        const [from, to] = [x(place, fromMs), x(place, toMs)]
        return (
          `<rect class="${kind}" x="${from}" y="${y(timeline, place, row) + (place.row === ROW ? 3 : 0)}" ` +
          `width="${Math.max(3, to - from)}" height="${height}"><title>${shown(title)}</title></rect>`
        )
      }),
  )
}

function marks(timeline: Timeline, place: Place): string[] {
  const { scale, unit, bottom } = place
  return timeline.moments.map(({ row, kind, atMs, text }, i) => {
    const at = scale.step === null ? x(place, atMs) : LEFT + i * scale.step * unit
    const title = `<title>${shown(`${Math.round(atMs)} ms, ${row}: ${text}`)}</title>`
    const number = scale.step === null ? '' : `<text class="number" x="${at}" y="12">${i + 1}</text>`
    const line = scale.step === null ? '' : `<line class="tick" x1="${at}" x2="${at}" y1="16" y2="${bottom}"/>`
    if (kind === 'step' && scale.step === null) return `${line}${number}`
    return `${line}${number}${mark(at, y(timeline, place, row) + place.row / 2 - 1, kind, title)}`
  })
}

function mark(cx: number, cy: number, kind: Moment['kind'], title: string): string {
  const circle = `<circle class="at-${kind}" cx="${cx}" cy="${cy}" r="${kind === 'step' ? 3 : 7}">${title}</circle>`
  const sign = SIGNS[kind]
  return sign === '' ? circle : `${circle}<text class="sign" x="${cx}" y="${cy + 4}">${sign}</text>`
}
