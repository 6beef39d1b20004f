/** Draws a timeline with letters: one row for each client, and below it what happened. */
import { printable, width as widthOf } from 'holdfast/internal'
import { makeScale, type Scale } from './scale.ts'
import { type Moment, overlaps, type Span, type Timeline } from './timeline.ts'

const LETTERS: Readonly<Record<Span['kind'], string>> = { hold: '█', wait: '·', stopped: '░', down: 'x' }
const SIGNS: Readonly<Record<Moment['kind'], string>> = { step: ' ', fault: '!', harm: '✗', caught: '✓' }
const CROWD = 'at once'
/** More rows and moments than these are left to the HTML page and the JSON. */
const ROWS_MAX = 14
const MOMENTS_MAX = 30

export const LEGEND =
  '█ holds   · waits   ░ stopped   x down or cut off   ▲ more than one at once   ! fault   ✗ harm   ✓ refused'

export function draw(timeline: Timeline, widthMax: number): string[] {
  const rows = timeline.rows.slice(0, ROWS_MAX)
  const gutter = Math.max(...[...rows, CROWD].map((row) => widthOf(printable(row)))) + 2
  const scale = makeScale(timeline, Math.max(20, widthMax - gutter))
  const label = (row: string): string => row + ' '.repeat(gutter - widthOf(row))
  const lines: string[] = []
  if (scale.step !== null) lines.push(label('') + numbers(timeline, scale.step))
  for (const row of rows) lines.push(label(printable(row)) + drawRow(timeline, row, scale))
  if (timeline.rows.length > ROWS_MAX) lines.push(label('…') + `and ${timeline.rows.length - ROWS_MAX} more rows`)
  const crowd = overlaps(timeline.spans)
  if (crowd.length > 0) {
    const cells = blank(scale)
    for (const { fromMs, toMs } of crowd) fill(cells, scale, fromMs, toMs, '▲')
    lines.push(label(CROWD) + cells.join('').trimEnd())
  }
  return [...lines, '', ...moments(timeline, scale)].map((line) => line.trimEnd())
}

function drawRow({ spans, moments: all }: Timeline, row: string, scale: Scale): string {
  const cells = blank(scale)
  const own = spans.filter((span) => span.row === row)
  // A stop is drawn over the hold that it interrupts.
  for (const kind of ['wait', 'hold', 'stopped', 'down'] as const) {
    for (const span of own) if (span.kind === kind) fill(cells, scale, span.fromMs, span.toMs, LETTERS[kind])
  }
  for (const [i, { row: at, kind, atMs }] of all.entries()) {
    if (at === row && kind !== 'step') cells[column(scale, i, atMs)] = SIGNS[kind]
  }
  return cells.join('').trimEnd()
}

/** Two moments may have the same time: by its number a moment gets its own column. */
function column(scale: Scale, index: number, atMs: number): number {
  return scale.step === null ? Math.min(scale.column(atMs), scale.width - 1) : index * scale.step
}

function blank(scale: Scale): string[] {
  return Array.from({ length: Math.max(1, scale.width) }, () => ' ')
}

/** At least one letter, so that everything is visible, however short it was. */
function fill(cells: string[], scale: Scale, fromMs: number, toMs: number, letter: string): void {
  const from = Math.min(scale.column(fromMs), cells.length - 1)
  for (let i = from; i < Math.max(from + 1, scale.column(toMs)); i++) cells[i] = letter
}

/** As many of the numbers as the room allows. */
function numbers({ moments: all }: Timeline, step: number): string {
  let line = ''
  for (const i of all.keys()) {
    if (line.length > i * step || (line !== '' && line.length === i * step)) continue
    line = line.padEnd(i * step) + String(i + 1)
  }
  return line
}

function moments({ moments: all, rows }: Timeline, scale: Scale): string[] {
  const who = Math.max(0, ...rows.map((row) => widthOf(printable(row))))
  // Faults and harm are always shown; other moments as far as the room allows.
  const steps = all.filter(({ kind }) => kind === 'step').length
  const room = MOMENTS_MAX - (all.length - steps)
  let shown = 0
  const lines = all.flatMap(({ row, kind, atMs, text }, i) => {
    if (kind === 'step' && scale.step === null && ++shown > room) return []
    const number = scale.step === null ? '  ' : String(i + 1).padStart(2)
    const name = printable(row)
    const pad = ' '.repeat(who - widthOf(name))
    return [`${number} ${String(Math.round(atMs)).padStart(6)} ms ${SIGNS[kind]} ${name}${pad}  ${printable(text)}`]
  })
  return shown > room ? [...lines, `   and ${shown - room} more`] : lines
}
