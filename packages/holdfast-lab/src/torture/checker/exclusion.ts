/** Belief exclusion: at no moment do more clients believe that they hold than the capacity allows. */
import type { Checker, Findings } from './finding.ts'
import { none } from './finding.ts'
import { firstOfPlace, forgotOne, type Hold, isStillborn, type LineTrial, type Trial } from './trial.ts'

export const exclusion: Checker = (trial) => {
  const found = none()
  for (const line of trial.lines.values()) sweep(trial, line, found)
  return found
}

/**
 * Grants in the order of time; those whose belief has ended are dropped as time goes by. Few are inside at once, so
 * this is linear.
 */
function sweep(trial: Trial, { spec, holds }: LineTrial, found: Findings): void {
  const byGrant = holds.filter((hold) => !isStillborn(hold)).toSorted((a, b) => a.granted - b.granted)
  const first = firstOfPlace(holds)
  let inside: Hold[] = []
  for (const hold of byGrant) {
    inside = inside.filter((other) => other.ended > hold.granted)
    inside.push(hold)
    let weight = 0
    for (const other of inside) weight += other.weight
    if (weight <= spec.capacity || inside.length === 1) continue
    const others = inside.filter((other) => other !== hold)
    const overlapMs = Math.min(...others.map((other) => Math.min(other.ended, hold.ended) - hold.granted)) / 1_000
    const finding = {
      rule: 'exclusion' as const,
      line: spec.name,
      at: hold.granted,
      message:
        `${hold.p} was granted it while ${others.map(({ p }) => p).join(', ')} held it (for ` +
        `${overlapMs.toFixed(1)} ms more)`,
      processes: inside.map(({ p }) => p),
    }
    // Where the store may have forgotten one of two, they did not meet in it: do the rest fit?
    const known = others.filter((other) => !forgotOne(trial, first, hold, other))
    const isExcused = known.reduce((sum, other) => sum + other.weight, hold.weight) <= spec.capacity
    if (isExcused) found.exposures.push(finding)
    else found.violations.push(finding)
  }
}
