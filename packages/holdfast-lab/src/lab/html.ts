/** The page: one HTML file with every act of the exhibits that were run. */
import { escapeHtml, page } from '../torture/report/page.ts'
import type { Act, Report } from './exhibit.ts'
import { svg } from './svg.ts'
import { figuresOf, RESULT_TEXT, shownFigure } from './text.ts'

/** How timelines are drawn. */
export const drawingStyle: string = `
svg .hold { fill: #1f77b4 } svg .wait { fill: #1f77b4; opacity: .2 }
svg .stopped { fill: #f9a825 } svg .down { fill: var(--dim) }
svg .crowd { fill: var(--bad); opacity: .2 } svg .tick { stroke: var(--rule); stroke-dasharray: 2 3 }
svg .number { fill: var(--dim); font-size: 10px; text-anchor: middle } svg .thin { font-size: 8px }
svg .sign { fill: var(--paper); font-weight: 700; text-anchor: middle }
svg .at-step { fill: var(--ink) } svg .at-fault { fill: #b26a00 }
svg .at-harm { fill: var(--bad) } svg .at-caught { fill: var(--good) }
dt { color: var(--dim) } dd { margin: 0 0 .5rem }
tr.fault td { color: #b26a00 } tr.harm td { color: var(--bad) } tr.caught td { color: var(--good) }
`

/** Moments listed; the JSON has all of them. */
const LISTED = 60

export function htmlReport(reports: readonly Report[]): string {
  const legend =
    'A blue bar is a hold, a pale one a wait, a yellow one a stopped process, a grey one a server that is down ' +
    'or cut off; a red band is where more than one held at once. A yellow dot is what we broke, a red one ' +
    'harm, a green one harm that was refused.'
  const body = `${reports.map(section).join('\n')}\n<p class="dim">${legend}</p>`
  return page(`holdfast lab: ${reports.map(({ exhibit }) => exhibit.name).join(', ')}`, body, drawingStyle)
}

function section({ exhibit, acts, versions, ms, shown }: Report): string {
  const { name, title, recipe, source, lesson } = exhibit
  const verdict = shown ? '<span class="good">shown</span>' : '<span class="bad">not shown</span>'
  return `<h1>holdfast lab ${escapeHtml(name)}: ${verdict}</h1>
<p>${escapeHtml(title)}</p>
<dl><dt>the recipe</dt><dd>${escapeHtml(recipe)}</dd><dt>who says so</dt><dd>${escapeHtml(source)}</dd></dl>
${acts.map(actHtml).join('\n')}
<p>${escapeHtml(lesson)}</p><p class="dim">${escapeHtml(versions)}, ${(ms / 1_000).toFixed(1)} s</p>`
}

function actHtml(act: Act): string {
  const { moments } = act.timeline
  const rows = moments.slice(0, LISTED).map(({ row, kind, atMs, text }, i) => {
    const cells = `<td class="n">${i + 1}</td><td class="n">${Math.round(atMs)} ms</td>`
    return `<tr class="${kind}">${cells}<td>${escapeHtml(row)}</td><td>${escapeHtml(text)}</td></tr>`
  })
  const more = moments.length > LISTED ? `<p class="dim">and ${moments.length - LISTED} more</p>` : ''
  const colour = act.result === 'harm' || act.result === 'exposed' ? 'bad' : 'good'
  const unsaid = act.result === act.claim ? '' : ` <span class="bad">(said was: ${RESULT_TEXT[act.claim]})</span>`
  return `<h2>${escapeHtml(act.by)}: ${escapeHtml(act.title)}</h2>
<div class="scroll">${svg(act.timeline)}</div>
<p class="${colour}">${RESULT_TEXT[act.result]}${unsaid}</p>
<p>${figuresOf(act)
    .map((figure) => escapeHtml(shownFigure(figure)))
    .join(' · ')}</p>
<table>${rows.join('')}</table>${more}`
}
