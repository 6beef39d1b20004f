/** What a rehearsal has found, and what is missing. */
import { draw, LEGEND } from '../lab/draw.ts'
import { drawingStyle } from '../lab/html.ts'
import { svg } from '../lab/svg.ts'
import type { Timeline } from '../lab/timeline.ts'
import { escapeHtml, page } from '../torture/report/page.ts'
import { shown, shownCall } from './calls.ts'
import type { Harm, HarmKind } from './judge.ts'
import type { Played } from './play.ts'
import { timelineOf } from './story.ts'

/** What would have stopped the harm. */
export type Missing = 'lock' | 'assertHeld' | 'guard' | 'end'

export interface Failure {
  readonly kind: HarmKind
  readonly missing: Missing
  /** What happened, in one sentence. */
  readonly happened: string
  /** What to do. */
  readonly advice: string
  /** Where the function was paused: file, line and column; null: it was not paused. */
  readonly pausedAt: string | null
  readonly timeline: Timeline
}

export interface Rehearsal {
  /** How many schedules were run. */
  readonly schedules: number
  /** In how many of them the second holder got a lock that the first had. */
  readonly met: number
  /** How many awaits and how many calls of the resource the function had without a pause. */
  readonly awaits: number
  readonly calls: number
  /** True: all possible schedules were run, up to the failure. */
  readonly isWhole: boolean
  /** Where pauses were tried. */
  readonly pauses: readonly ('await' | 'call')[]
  /** The first schedule that does harm; null: none does. */
  readonly failure: Failure | null
}

/** The function does not survive a pause. The message shows the schedule, and says what is missing. */
export class RehearsalError extends Error {
  override readonly name = 'RehearsalError'
  readonly rehearsal: Rehearsal

  constructor(rehearsal: Rehearsal) {
    super(textReport(rehearsal))
    this.rehearsal = rehearsal
  }
}

export function failureOf(played: Played, harm: Harm): Failure {
  const { stopped } = played
  const missing = missingIn(played, harm)
  return {
    kind: harm.kind,
    missing,
    happened: happenedOf(harm),
    advice: adviceOf(missing, harm, played),
    pausedAt: stopped === null ? null : stopped.site(),
    timeline: timelineOf(played, harm),
  }
}

function missingIn({ stopped }: Played, { kind }: Harm): Missing {
  if (kind === 'no-lock' || stopped === null) return kind === 'endless' ? 'end' : 'lock'
  if (kind === 'endless') return 'end'
  return stopped.call === null ? 'assertHeld' : 'guard'
}

function happenedOf({ kind, call, before, complaint }: Harm): string {
  const late = call === null ? '' : shownCall(call)
  const newer = before === null ? '' : shownCall(before)
  switch (kind) {
    case 'no-lock':
      return `acts without a lock: ${late} was called while no lock was held`
    case 'lost-update':
      return `lost update: ${late} of the first holder was accepted after ${newer} of the second`
    case 'late-effect':
      return `acts after the loss: ${late} was accepted after ${newer} of the newer holder`
    case 'check':
      return `the check has failed: ${complaint instanceof Error ? complaint.message : shown(complaint)}`
    case 'endless':
      break
  }
  return 'the function does not end'
}

function adviceOf(missing: Missing, { call }: Harm, { stopped }: Played): string {
  const effect = call === null ? 'the effect' : `${shownCall(call)} at ${call.site()}`
  const pausedAt = stopped?.site() ?? ''
  switch (missing) {
    case 'lock':
      return `Call ${effect} inside lock.using(…). If ${call?.method ?? 'it'} only looks, name it in "reads".`
    case 'assertHeld':
      return (
        `held.assertHeld() is missing between the await at ${pausedAt} and ${effect}, or its error was caught there. ` +
        'It throws after a pause. Only a guard also refuses what was sent before the pause.'
      )
    case 'guard':
      return (
        `A guard is missing: assertHeld() can't help, ${effect} was under way already. Give held.token to every ` +
        'call, those that read too, and let the resource refuse a token below the largest it has seen (holdfast/fence).'
      )
    case 'end':
      break
  }
  return (
    'It waits for something that never comes: heed held.signal. Real I/O and timers that the rehearsal does not know ' +
    'belong into the resource.'
  )
}

const WIDTH = 110

/** For a terminal, and for the message of the error. */
export function textReport(rehearsal: Rehearsal, width: number = WIDTH): string {
  const { failure, schedules, met, awaits, calls, isWhole, pauses } = rehearsal
  const tried = `${schedules} schedules, ${met} with a second holder; ${awaits} awaits, ${calls} calls of the resource`
  if (failure === null) {
    const part = isWhole ? '' : '; there are more: raise schedulesMax'
    return `✓ survives a pause ${survivedOf(pauses)} (${tried}${part})`
  }
  const drawn = draw(failure.timeline, width - 2).map((line) => (line === '' ? '' : `  ${line}`))
  return [`✗ ${failure.happened}`, '', ...drawn, '', `→ ${failure.advice}`, `(${tried}) ${LEGEND}`].join('\n')
}

/** No more than was tried. */
function survivedOf(pauses: Rehearsal['pauses']): string {
  if (!pauses.includes('call'))
    return 'at every await; not tried: a pause while a call is under way, where only a guard helps'
  return pauses.includes('await') ? 'at every await and every call' : 'at every call; not tried: a pause at an await'
}

/** One page with the timelines drawn. */
export function htmlReport(named: readonly (readonly [string, Rehearsal])[]): string {
  const sections = named.map(([name, rehearsal]) => {
    const { failure } = rehearsal
    if (failure === null) return `<h1>${escapeHtml(name)}</h1><p class="good">${escapeHtml(textReport(rehearsal))}</p>`
    const rows = failure.timeline.moments.map(
      ({ row, kind, atMs, text }, i) =>
        `<tr class="${kind}"><td class="n">${i + 1}</td><td class="n">${Math.round(atMs)} ms</td>` +
        `<td>${escapeHtml(row)}</td><td>${escapeHtml(text)}</td></tr>`,
    )
    return `<h1>${escapeHtml(name)}</h1><p class="bad">✗ ${escapeHtml(failure.happened)}</p>
<div class="scroll">${svg(failure.timeline)}</div><p>${escapeHtml(failure.advice)}</p><table>${rows.join('')}</table>`
  })
  return page('holdfast-lab rehearse', sections.join('\n'), drawingStyle)
}
