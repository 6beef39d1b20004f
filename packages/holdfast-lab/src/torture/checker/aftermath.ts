/** After all faults are mended: every line must be served, nothing may be left, and every wait must have ended. */
import type { Checker } from './finding.ts'
import { none } from './finding.ts'

/** How long a line may take to be served again, beyond the lease and what the store needs. */
const PATIENCE_MS = 15_000

export const lostLock: Checker = (trial) => {
  const found = none()
  const limitMs = trial.run.ttlMs + trial.run.failoverMs + PATIENCE_MS
  for (const { line, outcome, tookMs, t, error } of trial.probes) {
    if (outcome === 'ok' && tookMs <= limitMs) continue
    const why =
      outcome === 'ok'
        ? `only after ${Math.round(tookMs)} ms`
        : `not within ${Math.round(tookMs)} ms (${error ?? outcome})`
    const message = `a fresh client was served ${why}, after all faults had been mended`
    found.violations.push({ rule: 'lost-lock', line, at: t, message, processes: [] })
  }
  return found
}

export const leftBehind: Checker = (trial) => {
  const found = none()
  for (const { line, holders, waiters, t } of trial.left) {
    if (holders + waiters === 0) continue
    const message = `all clients have gone, and ${holders} holders and ${waiters} waiters still stand in the store`
    found.violations.push({ rule: 'left-behind', line, at: t, message, processes: [] })
  }
  return found
}

/** A wait is over by its own time-out at the latest; a process that is told to stop, stops. */
export const waiters: Checker = (trial) => {
  const found = none()
  const stoppingAt = trial.phases.get('stopping') ?? trial.end
  for (const { ask, outcome } of trial.visits) {
    if (outcome !== null || trial.deaths.has(ask.p)) continue
    found.violations.push({
      rule: 'waiters',
      line: ask.line,
      at: ask.t,
      message:
        `${ask.p} waited ${((stoppingAt - ask.t) / 1e6).toFixed(1)} s for a line that others were served, and was ` +
        `never answered`,
      processes: [ask.p],
    })
  }
  for (const [p, detail] of trial.stuck) {
    const message = `${p} did not end when it was told to${detail === '' ? '' : `: ${detail}`}`
    found.violations.push({ rule: 'waiters', line: '', at: trial.deaths.get(p) ?? trial.end, message, processes: [p] })
  }
  for (const [p, detail] of trial.crashed) {
    const message = `${p} ended by itself${detail === '' ? '' : `: ${detail}`}`
    found.violations.push({ rule: 'waiters', line: '', at: trial.deaths.get(p) ?? trial.end, message, processes: [p] })
  }
  return found
}
