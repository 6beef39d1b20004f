/** Judges a history: all checkers, and one verdict. */
import type { HistoryEvent } from '../history/event.ts'
import { leftBehind, lostLock, waiters } from './aftermath.ts'
import { effects } from './effects.ts'
import { exclusion } from './exclusion.ts'
import { fairness, mostPassedOver } from './fairness.ts'
import type { Checker, Finding, Rule } from './finding.ts'
import { RULES } from './finding.ts'
import { givenUp } from './given-up.ts'
import { honestLoss } from './honest-loss.ts'
import { model } from './model.ts'
import { order } from './order.ts'
import { overtaking } from './overtaking.ts'
import { owner } from './owner.ts'
import { servedEarly } from './served-early.ts'
import { standsStill } from './stands-still.ts'
import { tokens } from './tokens.ts'
import { makeTrial, type Trial } from './trial.ts'
import { validity } from './validity.ts'
import { countWakeUps, type WakeUps, wakeUps } from './wake-ups.ts'

/** valid: the run tested the laws, and none was broken. unknown: the run tested nothing. */
export type Verdict = 'valid' | 'invalid' | 'unknown'

export interface Judgement {
  readonly verdict: Verdict
  readonly trial: Trial
  readonly doubts: readonly string[]
  readonly violations: readonly Finding[]
  readonly exposures: readonly Finding[]
  readonly counts: Counts
}

export interface Counts {
  readonly events: number
  readonly visits: number
  readonly granted: number
  readonly refused: number
  readonly unknown: number
  readonly lost: number
  /** Of each kind of errand, how many visits it asked for, and how many were granted. */
  readonly errands: Readonly<Record<string, { readonly asked: number; readonly granted: number }>>
  /** Steps on the resource, and how many of them the token check refused. */
  readonly effects: number
  readonly stale: number
  readonly violations: Readonly<Record<Rule, number>>
  readonly exposures: Readonly<Record<Rule, number>>
  readonly faults: Readonly<Record<string, { readonly struck: number; readonly hit: number }>>
  readonly mostPassedOver: number
  /** How many waiters were woken by releases in front of a crowd. */
  readonly wakeUps: WakeUps
  /** The longest wait of a fresh client for a line after the faults. */
  readonly healMs: number
}

const CHECKERS: readonly Checker[] = [
  exclusion,
  servedEarly,
  effects,
  tokens,
  owner,
  honestLoss,
  givenUp,
  lostLock,
  standsStill,
  leftBehind,
  waiters,
  fairness,
  overtaking,
  wakeUps,
  order,
  model,
]

export function judge(events: readonly HistoryEvent[]): Judgement {
  const trial = makeTrial(events)
  const violations: Finding[] = []
  const exposures: Finding[] = []
  for (const check of CHECKERS) {
    const found = check(trial)
    for (const finding of found.violations) violations.push(finding)
    for (const finding of found.exposures) exposures.push(finding)
  }
  violations.sort((a, b) => a.at - b.at)
  exposures.sort((a, b) => a.at - b.at)
  const { doubts, faults } = validity(trial)
  const verdict = violations.length > 0 ? 'invalid' : doubts.length > 0 ? 'unknown' : 'valid'
  const outcomes = (outcome: string): number => trial.visits.filter((visit) => visit.outcome === outcome).length
  let steps = 0
  let stale = 0
  for (const line of trial.lines.values()) {
    for (const { accepted } of line.effects) {
      steps += 1
      if (!accepted) stale += 1
    }
  }
  const counts: Counts = {
    events: events.length,
    visits: trial.visits.length,
    granted: trial.holds.length,
    refused: outcomes('fail'),
    unknown: trial.visits.length - trial.holds.length - outcomes('fail'),
    lost: trial.holds.filter(({ lostAt }) => lostAt !== null).length,
    effects: steps,
    errands: countErrands(trial),
    stale,
    violations: byRule(violations),
    exposures: byRule(exposures),
    faults: Object.fromEntries(faults),
    mostPassedOver: mostPassedOver(trial),
    wakeUps: countWakeUps(trial),
    healMs: trial.probes.reduce((most, { tookMs }) => Math.max(most, tookMs), 0),
  }
  return { verdict, trial, doubts, violations, exposures, counts }
}

function countErrands({ visits }: Trial): Record<string, { asked: number; granted: number }> {
  const counts: Record<string, { asked: number; granted: number }> = {}
  for (const { ask, outcome } of visits) {
    const kind = ask.errand ?? 'visit'
    const { asked, granted } = counts[kind] ?? { asked: 0, granted: 0 }
    counts[kind] = { asked: asked + 1, granted: granted + (outcome === 'ok' ? 1 : 0) }
  }
  return counts
}

function byRule(findings: readonly Finding[]): Record<Rule, number> {
  const counts = Object.fromEntries(RULES.map((rule) => [rule, 0])) as Record<Rule, number>
  for (const { rule } of findings) counts[rule] += 1
  return counts
}
