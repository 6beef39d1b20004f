/**
 * The cross-check on short histories, line by line: is there one order of grants and ends, each within the time it was
 * seen in, that a line could have gone through? The search of Wing and Gong, with the states that led nowhere
 * remembered.
 *
 * It knows nothing of what the other checkers know: only that an operation takes effect between its call and its
 * answer.
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

/** Longer histories are left to the linear checkers. */
const HOLDS_MAX = 200
/** Where the search has not ended by then it says nothing. */
const STEPS_MAX = 20_000

interface Operation {
  readonly hold: Hold
  readonly what: 'grant' | 'end'
  readonly earliest: Micros
  readonly latest: Micros
}

export const order: Checker = (trial) => {
  const found = none()
  const fenced = trial.run.fenced && !tokensMayFall(trial, trial.start, trial.end)
  for (const line of trial.lines.values()) {
    if (line.holds.length === 0 || line.holds.length > HOLDS_MAX) continue
    const stuck = search(operations(trial, line), line.spec.capacity, fenced)
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

function operations(trial: Trial, { holds }: LineTrial): Operation[] {
  const forgetful = trial.faults.filter(({ forgets }) => forgets)
  const first = firstOfPlace(holds)
  return holds.flatMap((hold): Operation[] => {
    if (isStillborn(hold)) return []
    const place = first(hold)
    // Handed on from a place that the store may have forgotten: the store had no part in it, and no order of the store
    // explains it.
    if (place !== hold && excused(trial, place, hold.granted)) return []
    return [
      { hold, what: 'grant', earliest: hold.invoked, latest: hold.granted },
      { hold, what: 'end', earliest: endEarliest(hold, forgetful), latest: Number.POSITIVE_INFINITY },
    ]
  })
}

/** The earliest moment at which the store may have taken the hold away. */
function endEarliest(hold: Hold, forgetful: readonly Fault[]): Micros {
  const forgotten = forgetful.find(
    (fault) => concerns(fault, hold.line) && grantedSince(hold) <= fault.over && fault.t <= hold.ended,
  )
  return forgotten === undefined ? hold.ended : Math.max(hold.invoked, Math.min(hold.ended, forgotten.t))
}

interface State {
  readonly inside: number
  readonly any: bigint
  readonly alone: bigint
}

/**
 * Depth first over the grants. Whatever can end by the time that the next grant must have happened, ends: that only
 * makes room. Returns the grant at which every order breaks, or null: there is an order, or the search was given up.
 */
function search(all: readonly Operation[], capacity: number, fenced: boolean): Operation | null {
  const grants = all.filter(({ what }) => what === 'grant').toSorted((a, b) => a.latest - b.latest)
  const calls = grants.toSorted((a, b) => a.earliest - b.earliest)
  const ends = new Map(all.filter(({ what }) => what === 'end').map((op) => [op.hold, op]))
  const done = new Set<Operation>()
  const dead = new Set<string>()
  const numbers = new Map(grants.map((op, at) => [op, at]))
  let steps = 0
  let deepest = -1
  let stuck: Operation | null = null

  /** Room taken by those that were granted and can't have ended yet. */
  const insideBy = (latest: Micros): number => {
    let inside = 0
    for (const { hold } of done) if ((ends.get(hold)?.earliest ?? 0) > latest) inside += hold.weight
    return inside
  }
  const apply = (state: State, { hold }: Operation): State | null => {
    if (state.inside + hold.weight > capacity) return null
    const { token } = hold
    if (!fenced || token === null) return state
    if (token <= (hold.exclusive && hold.over === null ? state.any : state.alone)) return null
    return { ...state, any: token > state.any ? token : state.any, alone: hold.exclusive ? token : state.alone }
  }
  const visit = (state: State): boolean => {
    const next = grants.find((op) => !done.has(op))
    if (next === undefined || ++steps > STEPS_MAX) return true
    const key = grants.flatMap((op) => (done.has(op) ? [numbers.get(op)] : [])).join()
    if (dead.has(key)) return false
    if (done.size > deepest) {
      deepest = done.size
      stuck = next
    }
    const now = { ...state, inside: insideBy(next.latest) }
    for (const op of calls) {
      if (op.earliest > next.latest) break
      const after = done.has(op) ? null : apply(now, op)
      if (after === null) continue
      done.add(op)
      if (visit(after)) return true
      done.delete(op)
    }
    dead.add(key)
    return false
  }
  return visit({ inside: 0, any: -1n, alone: -1n }) ? null : stuck
}
