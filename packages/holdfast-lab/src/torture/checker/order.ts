/**
 * The cross-check, line by line: is there one order of grants and ends, each within the time it was seen in, that a
 * line could have gone through? It knows nothing of what the other checkers know: only that an operation takes effect
 * between its call and its answer, that what is inside fits, and that tokens rise.
 *
 * No search is needed, however long the history is. A grant that happens later takes less room from others and finds
 * more room itself; an end that happens earlier, too. So each end happens as early as it can, and each grant as late as
 * its answer and the tokens after it allow. If that order does not fit, no order does.
 */
import type { Micros } from '../history/event.ts'
import type { Checker } from './finding.ts'
import { none } from './finding.ts'
import {
  concerns,
  excused,
  type Fault,
  firstOfPlace,
  grantedSince,
  type Hold,
  isStillborn,
  type LineTrial,
  tokensMayFall,
  type Trial,
} from './trial.ts'

/** One hold, as the store may have seen it. */
interface Stay {
  readonly hold: Hold
  /** When the store may have taken it away, at the earliest. */
  readonly end: Micros
  /** What it takes of the capacity. */
  readonly weight: number
  /** The moment that the order gives to its grant. */
  at: Micros
}

export const order: Checker = (trial) => {
  const found = none()
  const fenced = trial.run.fenced && !tokensMayFall(trial, trial.start, trial.end)
  for (const line of trial.lines.values()) {
    const stays = staysOf(trial, line)
    const stuck = (fenced ? byTokens(stays) : null) ?? sweep(stays, line.spec.capacity)
    if (stuck === null) continue
    found.violations.push({
      rule: 'order',
      line: line.spec.name,
      at: stuck.hold.granted,
      message: `no order explains the line: ${stuck.hold.p} can't have been granted it, whatever came first`,
      processes: [stuck.hold.p],
    })
  }
  return found
}

function staysOf(trial: Trial, { holds }: LineTrial): Stay[] {
  const forgetful = trial.faults.filter(({ forgets }) => forgets)
  const first = firstOfPlace(holds)
  return holds.flatMap((hold): Stay[] => {
    if (isStillborn(hold)) return []
    const place = first(hold)
    // Handed on from a place that the store may have forgotten: the store had no part in it, and no order of the store
    // explains it.
    if (place !== hold && excused(trial, place, hold.granted)) return []
    const forgotten = forgottenBy(hold, forgetful)
    // Granted while the store forgot: it may have been inside for no time at all, at any moment. Its token counts.
    const weight = forgotten !== undefined && forgotten.t < hold.granted ? 0 : hold.weight
    const end = forgotten === undefined ? hold.ended : Math.min(hold.ended, forgotten.t)
    return [{ hold, end, weight, at: hold.granted }]
  })
}

/** The first fault by which the store may have forgotten the hold. */
function forgottenBy(hold: Hold, forgetful: readonly Fault[]): Fault | undefined {
  return forgetful.find(
    (fault) => concerns(fault, hold.line) && grantedSince(hold) <= fault.over && fault.t <= hold.ended,
  )
}

/**
 * Puts each grant before all that must follow by its token, from the highest token down. One that holds alone comes
 * before all higher tokens; one that shares, before those that hold alone. An upgrade writes by the place that it has
 * read by, which is older than readers that came beside it: those it need not precede. Returns one that had not even
 * asked by then, or whose token was given twice.
 */
function byTokens(stays: readonly Stay[]): Stay | null {
  const tokened = stays.filter(({ hold }) => hold.token !== null)
  tokened.sort((a, b) => (tokenOf(a) > tokenOf(b) ? -1 : tokenOf(a) < tokenOf(b) ? 1 : 0))
  let [any, alone] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  let bad: Stay | null = null
  for (const [n, stay] of tokened.entries()) {
    const { hold } = stay
    stay.at = Math.min(stay.at, isOnlyHolder(hold) ? any : alone)
    const isTooEarly = stay.at < hold.invoked || isGivenTwice(stay, tokened[n - 1])
    if (isTooEarly && (bad === null || hold.granted < bad.hold.granted)) bad = stay
    any = Math.min(any, stay.at)
    if (hold.exclusive) alone = Math.min(alone, stay.at)
  }
  return bad
}

function tokenOf({ hold }: Stay): bigint {
  return hold.token ?? -1n
}

/** Alone, and not by the place that it has read by. */
function isOnlyHolder({ exclusive, over }: Hold): boolean {
  return exclusive && over === null
}

function isGivenTwice({ hold }: Stay, other: Stay | undefined): boolean {
  return other !== undefined && other.hold.token === hold.token && (hold.exclusive || other.hold.exclusive)
}

/** Lets time pass: each grant must fit among those that are inside. Returns the first that does not. */
function sweep(stays: readonly Stay[], capacity: number): Stay | null {
  const length = ({ at, end }: Stay): number => Math.max(0, end - at)
  const grants = stays.toSorted(
    // At one moment, whoever is gone at once comes first; then by the tokens.
    (a, b) => a.at - b.at || Math.sign(length(a)) - Math.sign(length(b)) || (tokenOf(a) < tokenOf(b) ? -1 : 1),
  )
  let inside: Stay[] = []
  for (const stay of grants) {
    inside = inside.filter(({ end }) => end > stay.at)
    // Who has become heavier has no second place.
    const others = inside.reduce((sum, { hold, weight }) => sum + (hold === stay.hold.over ? 0 : weight), 0)
    if (stay.weight > 0 && others + stay.weight > capacity) return stay
    inside.push(stay)
  }
  return null
}
