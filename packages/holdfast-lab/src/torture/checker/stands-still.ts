/**
 * No line stands still: where somebody waits, somebody acts, or is served before long. One who holds and waits to
 * become a writer does not act: a circle of those would be renewed for ever.
 */
import type { Micros } from '../history/event.ts'
import type { Checker } from './finding.ts'
import { none } from './finding.ts'
import type { LineTrial, Standstill, Trial, Visit } from './trial.ts'

/** How long nothing may happen with nothing broken, beyond the lease and what the store needs. */
const PATIENCE_MS = 15_000

export const standsStill: Checker = (trial) => {
  const found = none()
  const limitUs = (trial.run.ttlMs + trial.run.failoverMs + PATIENCE_MS) * 1_000
  const broken = union(trial.faults.map(({ t, over }) => ({ from: t, to: over })))
  for (const line of trial.lines.values()) {
    for (const { from, to } of idle(trial, line)) {
      const stoodUs = to - from - overlap(broken, from, to)
      if (stoodUs <= limitUs) continue
      const waiting = new Set(waits(trial, line).flatMap(({ p, from: since }) => (since < to ? [p] : [])))
      found.violations.push({
        rule: 'stands-still',
        line: line.spec.name,
        at: to,
        message:
          `for ${((to - from) / 1e6).toFixed(1)} s somebody waited, nobody acted and nobody was served; ` +
          `${(stoodUs / 1e6).toFixed(1)} s of that nothing was broken`,
        processes: [...waiting],
      })
    }
  }
  return found
}

/** When somebody waited and nobody acted, without a break. */
function idle(trial: Trial, line: LineTrial): Standstill[] {
  const waiting = union(waits(trial, line))
  const acting = union(acts(trial, line))
  const stretches: Standstill[] = []
  let at = 0
  for (const { from, to } of waiting) {
    let since = from
    while (at < acting.length && (acting[at] as Standstill).to <= from) at += 1
    for (let next = at; next < acting.length && (acting[next] as Standstill).from < to; next++) {
      const act = acting[next] as Standstill
      if (act.from > since) stretches.push({ from: since, to: act.from })
      since = Math.max(since, act.to)
    }
    if (since < to) stretches.push({ from: since, to })
  }
  return stretches
}

function waits(trial: Trial, { spec }: LineTrial): (Standstill & { readonly p: string })[] {
  return trial.visits
    .filter(({ ask }) => ask.line === spec.name && ask.waitMs > 0)
    .map((visit) => ({ p: visit.ask.p, from: visit.ask.t, to: answered(trial, visit) }))
}

/** A hold, less the time in which it waits to become heavier; what is served at once acts at that moment. */
function acts(trial: Trial, { spec, holds }: LineTrial): Standstill[] {
  const raises = new Map<string, Standstill[]>()
  for (const visit of trial.visits) {
    const { over, p, line, t } = visit.ask
    if (over === undefined || line !== spec.name) continue
    const key = `${p} ${over}`
    raises.set(key, [...(raises.get(key) ?? []), { from: t, to: answered(trial, visit) }])
  }
  return holds.flatMap(({ p, i, granted, ended }) => {
    const spans: Standstill[] = []
    let since = granted
    for (const { from, to } of raises.get(`${p} ${i}`) ?? []) {
      spans.push({ from: since, to: Math.min(from, ended) })
      since = to
    }
    spans.push({ from: since, to: Math.max(since, Math.min(ended, trial.end)) })
    return spans.filter(({ from, to }) => from <= to)
  })
}

function answered(trial: Trial, { ask, answeredAt }: Visit): Micros {
  return answeredAt ?? trial.deaths.get(ask.p) ?? trial.end
}

/** The same time, in spans that do not touch, in order. */
function union(spans: readonly Standstill[]): Standstill[] {
  const apart: { from: Micros; to: Micros }[] = []
  for (const { from, to } of spans.toSorted((a, b) => a.from - b.from)) {
    const last = apart.at(-1)
    if (last === undefined || last.to < from) apart.push({ from, to })
    else last.to = Math.max(last.to, to)
  }
  return apart
}

function overlap(spans: readonly Standstill[], from: Micros, to: Micros): number {
  let sum = 0
  for (const span of spans) sum += Math.max(0, Math.min(span.to, to) - Math.max(span.from, from))
  return sum
}
