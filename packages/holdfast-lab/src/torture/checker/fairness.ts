/**
 * Fairness: where nothing was broken meanwhile, a waiter is not passed over again and again by those who came after it.
 */
import type { Checker } from './finding.ts'
import { none } from './finding.ts'
import type { Fault, Hold, Trial } from './trial.ts'

/** By default a process hands a place on 16 times before it goes to the back of the line, and each process may. */
const PER_CLIENT = 40

export const fairness: Checker = (trial) => {
  const found = none()
  if (!trial.run.fair) return found
  const limit = PER_CLIENT * trial.run.clients
  for (const { spec } of trial.lines.values()) {
    if (spec.kind !== 'mutex') continue
    for (const { hold, times } of passedOver(trial, spec.name, limit)) {
      found.violations.push({
        rule: 'fairness',
        line: spec.name,
        at: hold.granted,
        message:
          `${hold.p} waited ${((hold.granted - hold.invoked) / 1_000).toFixed(0)} ms and was passed over ${times} ` +
          `times`,
        processes: [hold.p],
      })
    }
  }
  return found
}

/** The most that any undisturbed waiter was passed over, of all mutexes. */
export function mostPassedOver(trial: Trial): number {
  let most = 0
  for (const { spec } of trial.lines.values()) {
    if (spec.kind !== 'mutex') continue
    for (const { times } of passedOver(trial, spec.name, 0)) if (times > most) most = times
  }
  return most
}

function passedOver(trial: Trial, line: string, above: number): { readonly hold: Hold; readonly times: number }[] {
  const holds = trial.lines.get(line)?.holds ?? []
  const byCall = holds.toSorted((a, b) => a.invoked - b.invoked)
  const faults = trial.faults.toSorted((a, b) => a.t - b.t)
  const result: { hold: Hold; times: number }[] = []
  for (const [at, hold] of byCall.entries()) {
    let times = 0
    for (let next = at + 1; next < byCall.length; next++) {
      const other = byCall[next] as Hold
      if (other.invoked >= hold.granted) break
      if (other.granted < hold.granted) times += 1
    }
    if (times > above && !isDisturbed(faults, hold, trial.run.ttlMs * 1_000)) result.push({ hold, times })
  }
  return result
}

/** A fault shortly before counts too: those who lost their places by it stand at the back now. */
function isDisturbed(faults: readonly Fault[], hold: Hold, leaseUs: number): boolean {
  return faults.some((fault) => fault.t <= hold.granted && fault.to + 2 * leaseUs >= hold.invoked)
}
