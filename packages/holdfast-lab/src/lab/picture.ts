/**
 * An act as a picture of its own: the drawing, what happened, and the outcome, in one SVG file that needs no other file
 * and reads well on a light and on a dark page.
 */
import { printable, width as widthOf } from 'holdfast/internal'
import { escapeHtml } from '../torture/report/page.ts'
import type { Act, Report } from './exhibit.ts'
import { drawing } from './svg.ts'
import { BY_TEXT, figuresOf, RESULT_TEXT, shownFigure } from './text.ts'
import type { Moment } from './timeline.ts'

/** As wide as the text of an article, in columns of 8 units beside the names of the rows. */
const COLUMNS = 90
const UNIT_MAX = 16
const WIDTH = 880
const EDGE = 20
const HEAD = 40
const LINE = 18
/** The width of a letter of the list, where a letter is 12 units high. */
const LETTER = 7.3
const LIST_LEFT = 150
/** The list has the beginning and the end of a long story; the drawing has all of it. */
const FIRST = 10
const LAST = 4
const SIGNS: Readonly<Record<Moment['kind'], string>> = { step: ' ', fault: '!', harm: '✗', caught: '✓' }

const LEGEND = 'blue: holds · pale: waits · yellow: stopped · grey: down or cut off · red band: more than one at once'

const STYLE = `
svg { --paper: #ffffff; --ink: #1f2328; --dim: #59636e; --rule: #d1d9e0; --hold: #1f6feb; --stopped: #d4a72c;
  --down: #8c959f; --bad: #cf222e; --good: #1a7f37; --odd: #9a6700; --sign: #ffffff }
@media (prefers-color-scheme: dark) { svg { --paper: #0d1117; --ink: #e6edf3; --dim: #9198a1; --rule: #3d444d;
  --hold: #4493f8; --stopped: #bb8009; --down: #656c76; --bad: #ff7b72; --good: #3fb950; --odd: #d29922;
  --sign: #0d1117 } }
text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: var(--ink);
  white-space: pre }
.paper { fill: var(--paper); stroke: var(--rule) } .head { font-weight: 600; font-size: 14px }
.dim { fill: var(--dim) } .number { fill: var(--dim); font-size: 10px; text-anchor: middle } .thin { font-size: 8px }
.grid { stroke: var(--rule) } .tick { stroke: var(--rule); stroke-dasharray: 2 3 }
.hold { fill: var(--hold) } .wait { fill: var(--hold); opacity: .25 } .stopped { fill: var(--stopped) }
.down { fill: var(--down) } .crowd { fill: var(--bad); opacity: .18 }
.at-step { fill: var(--ink) } .at-fault { fill: var(--odd) } .at-harm { fill: var(--bad) }
.at-caught { fill: var(--good) } .sign { fill: var(--sign); font-weight: 700; text-anchor: middle }
.fault { fill: var(--odd) } .harm, .exposed { fill: var(--bad) } .caught, .impossible { fill: var(--good) }
`

/** @param index Of the act. */
export function picture({ exhibit, acts, versions }: Report, index: number): string {
  const act = acts[index] as Act
  const title = `${BY_TEXT[act.by]}: ${act.title}`
  const { width, height, body } = drawing(act.timeline, COLUMNS, UNIT_MAX)
  const lines = [
    ...listed(act.timeline.moments),
    { left: EDGE, kind: 'dim', text: '' },
    { left: EDGE, kind: act.result, text: `→ ${RESULT_TEXT[act.result]}` },
    ...wrapped(figuresOf(act).map(shownFigure).join(' · '), WIDTH - 2 * EDGE).map((text) => ({
      left: EDGE,
      kind: 'dim',
      text,
    })),
    { left: EDGE, kind: 'dim', text: LEGEND },
    { left: EDGE, kind: 'dim', text: `holdfast lab ${exhibit.name} · ${versions}` },
  ]
  const top = HEAD + height + LINE
  const total = top + lines.length * LINE + EDGE / 2
  const right = Math.max(WIDTH, width + 2 * EDGE)
  const texts = lines.map(
    ({ left, kind, text }, i) =>
      `<text class="${kind.replace(' ', '-')}" x="${left}" y="${top + i * LINE}">${escapeHtml(text)}</text>`,
  )
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${right} ${total}" width="${right}" height="${total}" ` +
    `role="img" aria-label="${escapeHtml(printable(title))}"><style>${STYLE}</style>` +
    `<rect class="paper" x="0.5" y="0.5" width="${right - 1}" height="${total - 1}" rx="8"/>` +
    `<text class="head" x="${EDGE}" y="26">${escapeHtml(printable(title))}</text>` +
    `<g transform="translate(${EDGE} ${HEAD})">${body}</g>${texts.join('')}</svg>\n`
  )
}

interface Line {
  readonly left: number
  readonly kind: string
  readonly text: string
}

function listed(moments: readonly Moment[]): Line[] {
  const left = moments.length - FIRST - LAST
  const lines = moments.map((moment, i) => momentLines(moment, i))
  if (left <= 1) return lines.flat()
  const between: Line = { left: LIST_LEFT, kind: 'dim', text: `⋮ ${left} more, as drawn` }
  return [...lines.slice(0, FIRST).flat(), between, ...lines.slice(-LAST).flat()]
}

function momentLines({ row, kind, atMs, text }: Moment, index: number): Line[] {
  const time = `${String(index + 1).padStart(2)} ${String(Math.abs(Math.round(atMs))).padStart(6)} ms ${SIGNS[kind]}`
  const parts = wrapped(`${row}: ${text}`, WIDTH - LIST_LEFT - EDGE)
  return parts.map((part, i) => ({
    left: i === 0 ? EDGE : LIST_LEFT,
    kind,
    // The first line begins at the edge, and its text where the others begin.
    text: i === 0 ? `${time} `.padEnd(Math.round((LIST_LEFT - EDGE) / LETTER)) + part : part,
  }))
}

/** Lines that fit, without a server's control characters: with them the file would not be XML. */
function wrapped(text: string, room: number): string[] {
  const most = Math.floor(room / LETTER)
  const lines: string[] = ['']
  for (const word of printable(text).split(' ')) {
    const line = lines.at(-1) as string
    if (line === '') lines[lines.length - 1] = word
    else if (widthOf(line) + 1 + widthOf(word) <= most) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines
}
