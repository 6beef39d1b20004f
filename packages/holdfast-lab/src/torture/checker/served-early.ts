/**
 * A line that is taken from its holders without `now` is theirs until their leases have run out: they may be in the
 * middle of something. Nobody is served before, not even if the holders let go as soon as they are told.
 */
import type { Checker, Findings } from './finding.ts'
import { none } from './finding.ts'
import { type Fault, firstOfPlace, forgotOne, type Hold, isStillborn, type LineTrial, type Trial } from './trial.ts'

export const servedEarly: Checker = (trial) => {
  const found = none()
  for (const fault of trial.faults) {
    const line = fault.line === undefined ? undefined : trial.lines.get(fault.line)
    if (fault.nemesis === 'break' && fault.healed && line !== undefined) afterBreak(trial, line, fault, found)
  }
  return found
}

function afterBreak(trial: Trial, { spec, holds }: LineTrial, fault: Fault, found: Findings): void {
  const broken = holds.filter((hold) => isBroken(hold, fault) && !isStillborn(hold))
  const lastUntil = Math.max(...broken.map(({ until }) => until))
  const first = firstOfPlace(holds)
  for (const hold of holds) {
    if (hold.granted <= fault.from || hold.granted >= lastUntil || isStillborn(hold)) continue
    // A process hands its place on to its own callers as long as it knows nothing of the break: that is the same place.
    const before = broken.filter(
      (other) =>
        other.p !== hold.p &&
        other.until > hold.granted &&
        (trial.deaths.get(other.p) ?? Number.POSITIVE_INFINITY) > hold.granted &&
        !forgotOne(trial, first, hold, other),
    )
    const weight = before.reduce((sum, other) => sum + weightOf(other, before), hold.weight)
    if (weight <= spec.capacity) continue
    const leftMs = Math.max(...before.map(({ until }) => until - hold.granted)) / 1_000
    found.violations.push({
      rule: 'served-early',
      line: spec.name,
      at: hold.granted,
      message:
        `${hold.p} was served ${((hold.granted - fault.from) / 1_000).toFixed(1)} ms after the line was broken, ` +
        `while the lease of ${[...new Set(before.map(({ p }) => p))].join(', ')} ran for ${leftMs.toFixed(1)} ` +
        `ms more`,
      processes: [hold.p, ...before.map(({ p }) => p)],
    })
  }
}

/**
 * It was inside before the store was asked, and had not begun to let go when the store had answered. One that was told
 * that the line had been its own until it let go had not heard of the break by then: its work was over by itself, and
 * ZooKeeper's page says that the line is free then.
 */
function isBroken({ granted, releasedAt, released, until }: Hold, fault: Fault): boolean {
  if (released === 'ok') return false
  return granted <= fault.t && (releasedAt ?? Number.POSITIVE_INFINITY) >= fault.from && until > fault.from
}

/** Reader and writer of one upgradeable lock are one place. */
function weightOf(hold: Hold, among: readonly Hold[]): number {
  return among.some(({ over }) => over === hold) ? 0 : hold.weight
}
