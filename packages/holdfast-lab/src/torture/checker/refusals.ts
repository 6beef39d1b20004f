/**
 * Who was refused, or told to wait, had somebody in its way. Here everybody stands in the line for as long as it can
 * have stood there: if even so there was room all the time, the answer was wrong. Only where no fault was under way:
 * then what stands in a store is what its clients made.
 */
import type { Micros } from '../history/event.ts'
import type { LineTrial, Trial, Visit } from './trial.ts'

export interface Refusal {
  readonly p: string
  readonly at: Micros
  readonly what: string
}

/** A place whose end nobody confirmed may stand for so long beyond its lease: leases are renewed, ends are late. */
const GHOST_MS = 5_000

export function refusals(trial: Trial, line: LineTrial): Refusal[] {
  // Where votes are counted, or whoever comes first is served, two that ask at once may both be refused.
  if (!trial.run.fair) return []
  const here = trial.visits.filter(({ ask }) => ask.line === line.spec.name)
  const visits = here.filter(({ ask }) => ask.over === undefined)
  // Also who reads and waits to write: no reader that comes later is let in before it.
  const presence = new Presence(trial, line, here)
  const isFull = (from: Micros, to: Micros): boolean => presence.weight(from, to) > line.spec.capacity
  const found: Refusal[] = []
  for (const visit of visits) {
    const { ask, answeredAt } = visit
    if (answeredAt === null || !isRefused(trial, visit) || isFull(ask.t, answeredAt)) continue
    if (presence.isDisturbed(ask.t, answeredAt)) continue
    const waited = `waited ${ask.waitMs} ms and was not served`
    found.push({ p: ask.p, at: answeredAt, what: ask.waitMs === 0 ? 'was refused' : waited })
  }
  for (const { p, t } of line.queued) {
    // Mostly somebody is in the way at that very moment, and who asked since when need not be found out.
    if (isFull(t, t)) continue
    const from = presence.asking(p, t)
    if (from === null || isFull(from, t) || presence.isDisturbed(from, t)) continue
    found.push({ p, at: t, what: 'was told to wait' })
  }
  return found.toSorted((a, b) => a.at - b.at)
}

/** Not because its caller, or the run, had ended it; nor one of several locks, of which another was in the way. */
function isRefused(trial: Trial, { ask, outcome, answeredAt }: Visit): boolean {
  if (outcome !== 'fail' || ask.errand === 'several' || answeredAt === null) return false
  if (answeredAt >= (trial.phases.get('stopping') ?? Number.POSITIVE_INFINITY)) return false
  return answeredAt - ask.t >= ask.waitMs * 1_000
}

/** Who can have stood in a line, and when. */
class Presence {
  readonly #trial: Trial
  readonly #line: string
  readonly #froms: Sums
  readonly #tos: Sums
  /** By process: when it asked, and when it was answered. */
  readonly #asks = new Map<string, { readonly from: Micros; readonly to: Micros }[]>()

  constructor(trial: Trial, { spec }: LineTrial, visits: readonly Visit[]) {
    this.#trial = trial
    this.#line = spec.name
    const spans = visits.map((visit) => ({
      from: visit.ask.t,
      to: presentUntil(trial, visit),
      weight: visit.ask.weight,
    }))
    for (const { line, t, tookMs } of trial.probes) {
      if (line === spec.name) spans.push({ from: t - tookMs * 1_000, to: t, weight: spec.capacity })
    }
    this.#froms = new Sums(spans.map(({ from, weight }) => [from, weight]))
    this.#tos = new Sums(spans.map(({ to, weight }) => [to, weight]))
    for (const { ask, answeredAt } of visits) {
      if (ask.over !== undefined) continue
      const span = { from: ask.t, to: answeredAt ?? Number.POSITIVE_INFINITY }
      const list = this.#asks.get(ask.p)
      if (list === undefined) this.#asks.set(ask.p, [span])
      else list.push(span)
    }
  }

  /** Of all that can have stood there between the two, the asker included. */
  weight(from: Micros, to: Micros): number {
    return this.#froms.upTo(to) - this.#tos.upTo(from - 1)
  }

  /** Since when this process may have asked for a place of which it was told at `t`; null: it did not ask. */
  asking(p: string, t: Micros): Micros | null {
    const open = (this.#asks.get(p) ?? []).filter(({ from, to }) => from <= t && t <= to)
    return open.length === 0 ? null : Math.min(...open.map(({ from }) => from))
  }

  /** Servers that lost or kept what they should not, clients that stood still: then there may be places of nobody. */
  isDisturbed(from: Micros, to: Micros): boolean {
    const { faults, run } = this.#trial
    const graceUs = (run.ttlMs + run.failoverMs + GHOST_MS) * 1_000
    return faults.some(
      (fault) => (fault.line ?? this.#line) === this.#line && fault.t <= to && fault.over + graceUs >= from,
    )
  }
}

/** Sums of weights in the order of time. */
class Sums {
  readonly #times: readonly Micros[]
  readonly #sums: readonly number[]

  constructor(all: readonly (readonly [Micros, number])[]) {
    const sorted = all.toSorted((a, b) => a[0] - b[0])
    this.#times = sorted.map(([t]) => t)
    let sum = 0
    this.#sums = sorted.map(([, weight]) => (sum += weight))
  }

  upTo(t: Micros): number {
    let low = 0
    let high = this.#times.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#times[middle] ?? 0) <= t) low = middle + 1
      else high = middle
    }
    return this.#sums[low - 1] ?? 0
  }
}

/** A release that was confirmed is the end; whatever else became of a visit, its place may stand a lease longer. */
function presentUntil(trial: Trial, { ask, outcome, answeredAt }: Visit): Micros {
  const ghostUs = (2 * trial.run.ttlMs + trial.run.failoverMs + GHOST_MS) * 1_000
  const hold = trial.holdOf(ask.p, ask.i)
  if (hold === undefined) {
    if (outcome === 'fail' && ask.waitMs === 0) return (answeredAt ?? ask.t) + 1_000_000
    return (answeredAt ?? trial.deaths.get(ask.p) ?? Number.POSITIVE_INFINITY) + ghostUs
  }
  if (hold.released === 'ok' && hold.releasedBy !== null) return hold.releasedBy
  return Math.max(hold.releasedBy ?? trial.deaths.get(ask.p) ?? Number.POSITIVE_INFINITY, hold.granted) + ghostUs
}
