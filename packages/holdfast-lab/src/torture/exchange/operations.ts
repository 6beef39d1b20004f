/**
 * A history as others count: operations of single-threaded clients, each with a call and an answer. Clients of ours do
 * several things at once, so each of them is several here.
 */
import type { Micros, Outcome } from '../history/event.ts'
import { concerns, type Fault, grantedSince, type Hold, isStillborn, type Trial, type Visit } from '../checker/trial.ts'

export interface Operation {
  readonly op: 'acquire' | 'release'
  readonly line: string
  readonly weight: number
  /** Names the visit: its acquire and its release have the same. */
  readonly visit: string
  /** For an upgrade: the visit whose place has become heavier. */
  readonly over: string | null
  readonly client: number
  readonly call: Micros
  /** Infinity: it was never answered, or its answer is not known. */
  readonly answered: Micros
  readonly outcome: Outcome
  readonly token: bigint | null
}

/** By the time of their calls. */
export function operationsOf(trial: Trial): Operation[] {
  const clients = new Clients()
  const forgetful = trial.faults.filter(({ forgets }) => forgets)
  const all: Operation[] = []
  for (const visit of trial.visits.toSorted((a, b) => a.ask.t - b.ask.t)) {
    const hold = trial.holdOf(visit.ask.p, visit.ask.i)
    // A grant that its caller heard of after its deadline was none, and nobody knows how long the line was taken.
    const isGrant = hold !== undefined && !isStillborn(hold)
    const end = isGrant ? endOf(hold, forgetful) : null
    const client = clients.take(visit.ask.p, visit.ask.t, isGrant ? lastOf(hold, end) : answeredAt(visit))
    const both = { line: visit.ask.line, weight: visit.ask.weight, visit: name(visit), over: overOf(visit), client }
    const outcome = isGrant ? 'ok' : visit.outcome === 'fail' ? 'fail' : 'unknown'
    const answered = outcome === 'unknown' ? Number.POSITIVE_INFINITY : answeredAt(visit)
    const token = isGrant ? hold.token : null
    all.push({ op: 'acquire', ...both, call: visit.ask.t, answered, outcome, token })
    if (end !== null) all.push({ op: 'release', ...both, ...end, client: end.isOwn ? client : clients.fresh(), token })
  }
  return all.sort((a, b) => a.call - b.call)
}

interface End {
  readonly call: Micros
  readonly answered: Micros
  readonly outcome: Outcome
  /** The client itself let go; else the lease ended, or the store forgot, and it happens at some time from then on. */
  readonly isOwn: boolean
}

/** null: it holds to this day. */
function endOf(hold: Hold, forgetful: readonly Fault[]): End | null {
  const by = forgetful.find(
    (fault) => concerns(fault, hold.line) && grantedSince(hold) <= fault.over && fault.t <= hold.ended,
  )
  const { releasedAt, releasedBy, released } = hold
  if (by === undefined && released === 'ok' && releasedAt !== null && releasedBy !== null)
    return { call: releasedAt, answered: releasedBy, outcome: 'ok', isOwn: true }
  const call = by === undefined ? hold.ended : Math.max(hold.invoked, Math.min(hold.ended, by.t))
  if (call === Number.POSITIVE_INFINITY) return null
  return { call, answered: Number.POSITIVE_INFINITY, outcome: 'unknown', isOwn: false }
}

/** Until when the client is busy with it. */
function lastOf({ granted }: Hold, end: End | null): Micros {
  return end?.isOwn === true ? end.answered : granted
}

function answeredAt({ outcome, answeredAt: at }: Visit): Micros {
  return outcome === null || outcome === 'unknown' ? Number.POSITIVE_INFINITY : (at ?? Number.POSITIVE_INFINITY)
}

function name({ ask }: Visit): string {
  return `${ask.p} ${ask.i}`
}

function overOf({ ask }: Visit): string | null {
  return ask.over === undefined ? null : `${ask.p} ${ask.over}`
}

/** Numbers of clients that do one thing at a time. One that was never answered does nothing more. */
export class Clients {
  readonly #free = new Map<string, { readonly client: number; busyUntil: Micros }[]>()
  #count = 0

  /** A client of this process that has nothing to do from `from` on; it is busy until `to`. */
  take(p: string, from: Micros, to: Micros): number {
    const list = this.#free.get(p) ?? []
    this.#free.set(p, list)
    const idle = list.find(({ busyUntil }) => busyUntil < from)
    if (idle !== undefined) {
      idle.busyUntil = to
      return idle.client
    }
    const made = { client: this.fresh(), busyUntil: to }
    list.push(made)
    return made.client
  }

  fresh(): number {
    return this.#count++
  }
}
