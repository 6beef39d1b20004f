/** The report: one HTML file with everything in it. */
import { RULE_TEXT, RULES } from '../checker/finding.ts'
import type { Judgement } from '../checker/judge.ts'
import { NOT_ASKED, type NotRun } from '../conductor/options.ts'
import { escapeHtml, page } from './page.ts'
import { VERDICT_TEXT } from './text.ts'
import { timeline } from './timeline.ts'

const STYLE = `
.timeline { display: flex; align-items: flex-start } .timeline > svg { flex: none }
.timeline > .scroll { flex: 1; min-width: 0 }
@media (max-width: 40rem) { table { font-size: 13px } }
`

/** Findings listed; the JSON has all of them. */
const LISTED = 200

export function htmlReport(judgement: Judgement, notRun: readonly NotRun[]): string {
  const { verdict, trial, doubts, violations, exposures, counts } = judgement
  const { run } = trial
  const colour = verdict === 'valid' ? 'good' : 'bad'
  const rules = RULES.map((rule) => {
    const violated = `<td class="n ${counts.violations[rule] > 0 ? 'bad' : 'good'}">${counts.violations[rule]}</td>`
    const exposed = `<td class="n">${counts.exposures[rule]}</td>`
    return `<tr><td>${rule}</td><td>${escapeHtml(RULE_TEXT[rule])}</td>${violated}${exposed}</tr>`
  })
  const faults = Object.entries(counts.faults).map(
    ([name, { struck, hit }]) =>
      `<tr><td>${escapeHtml(name)}</td><td class="n">${struck}</td><td class="n">${hit}</td></tr>`,
  )
  const lacking = notRun.filter(({ why }) => why !== NOT_ASKED)
  const missing = lacking.map(({ nemesis, why }) => `<li>${nemesis}: ${escapeHtml(why)}</li>`)
  const { releases, wakes } = counts.wakeUps
  const found = [
    ...violations.map((finding) => ({ finding, kind: 'violation' })),
    ...exposures.map((finding) => ({ finding, kind: 'exposure' })),
  ]
  const findings = found.slice(0, LISTED).map(({ finding: { rule, line, at, message }, kind }) => {
    const when = ((at - trial.start) / 1e6).toFixed(3)
    const sort = `<td class="${kind === 'violation' ? 'bad' : 'dim'}">${kind}</td>`
    const told = `<td>${rule}</td><td>${escapeHtml(line)}</td><td>${escapeHtml(message)}</td>`
    return `<tr><td class="n">${when} s</td>${sort}${told}</tr>`
  })
  const crowd = releases === 0 ? '' : ` · ${wakes} waiters woken by ${releases} releases in front of a crowd`
  const table = `<div class="wide"><table>${findings.join('')}</table></div>`
  const more = found.length > LISTED ? `<p>and ${found.length - LISTED} more</p>` : ''
  const body = `<h1>holdfast torture: <span class="${colour}">${VERDICT_TEXT[verdict]}</span></h1>
<p>${escapeHtml(run.store)} · ${escapeHtml(run.versions)} · lease ${run.ttlMs} ms · ${run.clients} clients
· seed ${run.seed} · ${((trial.end - trial.start) / 1e6).toFixed(1)} s</p>
${doubts.length === 0 ? '' : `<p class="bad">${escapeHtml(doubts.join('; '))}</p>`}
<p>${counts.visits} visits: ${counts.granted} granted, ${counts.refused} refused,
${counts.unknown} unknown, ${counts.lost} lost
· ${counts.effects} effects, ${counts.stale} turned away by their tokens
· every line served within ${Math.round(counts.healMs)} ms after the faults${crowd}</p>
<h2>Rules</h2>
<div class="wide"><table><tr><th>rule</th><th></th><th class="n">violations</th><th class="n">exposures</th></tr>
${rules.join('')}</table></div>
<p class="dim">An exposure is what the store's own page says may happen when it forgets, or what a resource is open to
that checks no token.</p>
<h2>Faults</h2>
<div class="wide"><table><tr><th>fault</th><th class="n">made</th><th class="n">met a holder</th></tr>
${faults.join('')}</table></div>
${missing.length === 0 ? '' : `<p class="dim">Not run:</p><ul class="dim">${missing.join('')}</ul>`}
<h2>Timeline</h2>
<p class="dim">A bar is a hold, coloured by its process; a yellow band a fault, a purple one a fault by which the
store may forget; a red mark a violation, a yellow one an exposure.</p>
${timeline(judgement)}
<h2>Findings</h2>${found.length === 0 ? '<p>None.</p>' : `${table}${more}`}`
  return page(`holdfast torture: ${run.store}`, body, STYLE)
}
