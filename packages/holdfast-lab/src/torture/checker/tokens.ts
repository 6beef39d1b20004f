/**
 * Tokens rise: an exclusive hold's token is above that of every earlier hold of the line, and below that of every later
 * one.
 */
import type { Micros } from '../history/event.ts'
import type { Checker, Findings } from './finding.ts'
import { none } from './finding.ts'
import { excused, firstOfPlace, type Hold, isStillborn, type LineTrial, tokensMayFall, type Trial } from './trial.ts'

export const tokens: Checker = (trial) => {
  const found = none()
  if (!trial.run.fenced) return found
  for (const line of trial.lines.values()) {
    repeated(trial, line, found)
    // Certain, whatever happened between: it was granted before the other even asked.
    falling(trial, line, found, { knownAt: (hold) => hold.granted, judgedAt: (hold) => hold.invoked, always: true })
    // Where the store forgot nothing: it had ended before the other was granted.
    falling(trial, line, found, { knownAt: (hold) => hold.ended, judgedAt: (hold) => hold.granted, always: false })
  }
  return found
}

function repeated(trial: Trial, { spec, holds }: LineTrial, found: Findings): void {
  const seen = new Map<bigint, Hold>()
  const first = firstOfPlace(holds)
  for (const hold of holds) {
    if (hold.token === null) continue
    const other = seen.get(hold.token)
    seen.set(hold.token, hold)
    if (other === undefined || !(hold.exclusive || other.exclusive)) continue
    const finding = {
      rule: 'tokens' as const,
      line: spec.name,
      at: hold.granted,
      message: `${other.p} and ${hold.p} were given the same token ${hold.token}`,
      processes: [other.p, hold.p],
    }
    // The clock is behind the last token, so the next one is one more than what is known of; what was given since the
    // data end comes again.
    if (tokensMayFall(trial, first(other).granted, hold.granted)) found.exposures.push(finding)
    else found.violations.push(finding)
  }
}

interface Relation {
  readonly knownAt: (hold: Hold) => Micros
  readonly judgedAt: (hold: Hold) => Micros
  /** No fault of the store excuses it. */
  readonly always: boolean
}

/** Two cursors over the same holds in two orders: what was known by the time that the next one is judged at. */
function falling(trial: Trial, line: LineTrial, found: Findings, relation: Relation): void {
  const { knownAt, judgedAt } = relation
  const known = line.holds.filter(({ token }) => token !== null).toSorted((a, b) => knownAt(a) - knownAt(b))
  const judged = known.toSorted((a, b) => judgedAt(a) - judgedAt(b))
  const first = firstOfPlace(line.holds)
  let at = 0
  let any: Hold | null = null
  let alone: Hold | null = null
  for (const hold of judged) {
    for (; at < known.length; at++) {
      const earlier = known[at] as Hold
      if (knownAt(earlier) >= judgedAt(hold)) break
      if (earlier === hold) continue
      if (any === null || tokenOf(earlier) > tokenOf(any)) any = earlier
      if (earlier.exclusive && (alone === null || tokenOf(earlier) > tokenOf(alone))) alone = earlier
    }
    // An upgrade writes by the place it has read by, which is older than the readers that came beside it meanwhile.
    const bar: Hold | null = hold.exclusive && hold.over === null ? any : alone
    if (bar === null || tokenOf(hold) > tokenOf(bar)) continue
    // The store gave both tokens when their places were first granted; from there on a process handed them on.
    const given = first(bar)
    if (!relation.always && excused(trial, given, hold.granted)) continue
    if (!relation.always && (bar.granted < hold.invoked || isStillborn(hold))) continue
    const finding = {
      rule: 'tokens' as const,
      line: line.spec.name,
      at: hold.granted,
      message: `${hold.p} was given token ${hold.token} after ${bar.p} had been given ${bar.token}`,
      processes: [bar.p, hold.p],
    }
    // A process hands on a place until its deadline. If the store forgot that place meanwhile, these holds are as old
    // as the place is.
    const place = first(hold)
    const isOld = place !== hold && excused(trial, place, bar.granted)
    if (isOld || tokensMayFall(trial, given.granted, hold.granted)) found.exposures.push(finding)
    else found.violations.push(finding)
  }
}

function tokenOf(hold: Hold): bigint {
  return hold.token ?? -1n
}
