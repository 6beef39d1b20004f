/**
 * The model of a line (`holdfast/conformance`, model-line.ts) explains what everybody was told: each grant, refusal,
 * release, loss, break and upgrade of a history is an answer that the model gives in some schedule of its steps. The
 * first event of a line that is not is reported, with what happened around it.
 */
import type { Micros } from '../history/event.ts'
import type { Checker } from './finding.ts'
import { none } from './finding.ts'
import { refusals } from './refusals.ts'
import { replay, type Unexplained } from './replay.ts'
import { standingsOf } from './standing.ts'
import { concerns, doubtsItsClock, type LineTrial, tokensMayFall, type Trial } from './trial.ts'

export const model: Checker = (trial) => {
  const found = none()
  const hasOrder = trial.run.fair && trial.run.fenced && !tokensMayFall(trial, trial.start, trial.end)
  for (const line of trial.lines.values()) {
    const queues = hasOrder && line.holds.every(({ token }) => token !== null)
    const { name, capacity } = line.spec
    const breaks = trial.faults.filter((fault) => fault.nemesis === 'break' && fault.line === name)
    const wrong = replay(standingsOf(trial, line), breaks, {
      capacity,
      queues,
      doubts: (hold) => doubtsItsClock(trial, hold),
    })
    if (wrong !== null) {
      found.violations.push({
        rule: 'model',
        line: name,
        at: wrong.at,
        message: `no schedule of the model explains what ${told(wrong)}: ${wrong.why}`,
        processes: [wrong.hold.p],
        around: around(trial, line, wrong.at),
      })
    }
    for (const { p, at, what } of refusals(trial, line).slice(0, 1)) {
      found.violations.push({
        rule: 'model',
        line: name,
        at,
        message: `no schedule of the model explains that ${p} ${what}: nobody can have stood in its way`,
        processes: [p],
        around: around(trial, line, at),
      })
    }
  }
  return found
}

function told({ hold, at }: Unexplained): string {
  const { p, i, token, lostAt } = hold
  const visit = `visit ${i}${token === null ? '' : `, token ${token}`}`
  if (at === lostAt) return `${p} (${visit}) was told, that it had lost the line`
  if (at === hold.releasedBy) return `${p} (${visit}) was told, that the line was not its own any more`
  return `${p} (${visit}) was told, that ${hold.over === null ? 'the line was its own' : 'it could write'}`
}

const SHOWN = 5

/** The last few events of the line before that moment, and after it. */
function around(trial: Trial, { spec, holds }: LineTrial, at: Micros): string[] {
  const events: { readonly t: Micros; readonly text: string }[] = []
  for (const { ask, outcome, answeredAt } of trial.visits) {
    if (ask.line !== spec.name) continue
    const how = ask.over === undefined ? 'asked' : 'asked to write'
    events.push({ t: ask.t, text: `${ask.p} ${ask.i} ${how}${ask.waitMs === 0 ? ', once' : ''}` })
    if (answeredAt !== null && outcome !== 'ok') {
      events.push({ t: answeredAt, text: `${ask.p} ${ask.i} ${outcome === 'fail' ? 'was refused' : 'heard nothing'}` })
    }
  }
  for (const { p, i, granted, token, until, releasedAt, releasedBy, released, lostAt } of holds) {
    const left = until === Number.POSITIVE_INFINITY ? '' : `, until ${seconds(trial, until)}`
    events.push({ t: granted, text: `${p} ${i} was granted it${token === null ? '' : `, token ${token}`}${left}` })
    if (releasedAt !== null) events.push({ t: releasedAt, text: `${p} ${i} began to let go` })
    if (releasedBy !== null) events.push({ t: releasedBy, text: `${p} ${i} was told of its release: ${released}` })
    if (lostAt !== null) events.push({ t: lostAt, text: `${p} ${i} was told of its loss` })
  }
  for (const fault of trial.faults) {
    if (!concerns(fault, spec.name)) continue
    events.push({ t: fault.t, text: `${fault.nemesis} ${fault.target} begins` })
    if (fault.over < Number.POSITIVE_INFINITY) events.push({ t: fault.over, text: `${fault.nemesis} is over` })
  }
  events.sort((a, b) => a.t - b.t)
  const here = events.findLastIndex(({ t }) => t <= at)
  const shown = events.slice(Math.max(0, here - 2 * SHOWN), here + SHOWN)
  return shown.map(({ t, text }) => `${t === at ? '→' : ' '} ${seconds(trial, t)}  ${text}`)
}

function seconds({ start }: Trial, t: Micros): string {
  return `${((t - start) / 1e6).toFixed(4)} s`
}
