/**
 * The places of a line as a history shows them. A place is one entry in the store; a process hands it on to its own
 * callers, and makes it heavier for an upgrade, so that several holds stand on one place.
 */
import type { Micros } from '../history/event.ts'
import {
  concerns,
  grantedSince,
  type Hold,
  isStillborn,
  ISSUES_PER_PLACE,
  type LineTrial,
  type Trial,
  type Visit,
} from './trial.ts'

export interface Standing {
  readonly id: string
  readonly p: string
  /** By the order in which they were granted; upgrades are not among them. */
  readonly holds: readonly Hold[]
  readonly raises: readonly Hold[]
  readonly weight: number
  /** The lowest of its holds; null where there are none. */
  readonly token: bigint | null
  /** When its process may have asked for it, at the earliest. */
  readonly askedAt: Micros
  /** When the store had granted it, at the latest. */
  readonly grantedBy: Micros
  /** When its process may have given it up, at the earliest; Infinity: it never did. */
  readonly leavesAt: Micros
  /** Its process was told that it had been its own until it let go: of a break it had not heard, its work was over. */
  readonly isConfirmed: boolean
  /** When the store may have dropped it by itself, at the earliest: also if it was broken. */
  readonly lapsesAt: Micros
}

const NEVER = Number.POSITIVE_INFINITY

export function standingsOf(trial: Trial, line: LineTrial): Standing[] {
  const chains = new Chains(trial, line)
  const raises = new Map<Hold, Hold[]>()
  for (const hold of line.holds) {
    if (hold.over !== null) raises.set(hold.over, [...(raises.get(hold.over) ?? []), hold])
  }
  const places = groups(line.holds.filter((hold) => hold.over === null && !isStillborn(hold)))
  return places.flatMap((holds) => {
    const made = standing(
      trial,
      chains,
      holds,
      holds.flatMap((hold) => raises.get(hold) ?? []),
    )
    return made === null ? [] : [made]
  })
}

/** Holds of one place: tokens of one process that differ only by how often the place was handed on. */
function groups(holds: readonly Hold[]): Hold[][] {
  const byGrant = holds.toSorted((a, b) => a.granted - b.granted)
  if (!hasPlaces(byGrant)) return byGrant.map((hold) => [hold])
  const open = new Map<string, Hold[]>()
  const all: Hold[][] = []
  for (const hold of byGrant) {
    const key = hold.token === null ? '' : `${hold.p} ${hold.token / ISSUES_PER_PLACE}`
    const group = key === '' ? undefined : open.get(key)
    // A store that forgot may give a number twice.
    if (group !== undefined && !group.some(({ token }) => token === hold.token)) group.push(hold)
    else {
      const first = [hold]
      all.push(first)
      if (key !== '') open.set(key, first)
    }
  }
  return all
}

/** Whether the tokens are numbers of places: then no two processes have tokens of one place. */
function hasPlaces(holds: readonly Hold[]): boolean {
  const owners = new Map<bigint, string>()
  let whole = 0
  for (const { p, token } of holds) {
    if (token === null) continue
    if (token > 0n && token % ISSUES_PER_PLACE === 0n) whole += 1
    const place = token / ISSUES_PER_PLACE
    if ((owners.get(place) ?? p) !== p) return false
    owners.set(place, p)
  }
  return whole > 0
}

/** null: the store forgot about the time that it granted the place, and nothing can be said of it. */
function standing(trial: Trial, chains: Chains, holds: readonly Hold[], raises: readonly Hold[]): Standing | null {
  const [first] = holds as readonly [Hold]
  const { p, line } = first
  const diedAt = trial.deaths.get(p) ?? NEVER
  const until = Math.max(...[...holds, ...raises].map(knownUntil))
  const leavesAt = Math.max(...holds.map(leftAt))
  const isConfirmed = holds.every(({ released }) => released === 'ok')
  // A release that succeeded shows that it stood until then, whatever deadline was seen last.
  const lapses = isConfirmed ? Math.max(until, leavesAt) : until
  const grantedBy = Math.min(...holds.map(({ granted }) => granted))
  // A store that sees its clients die drops the place then, others when the lease is over.
  const alive = Math.max(grantedBy, Math.min(lapses, diedAt))
  const end = Math.min(alive, leavesAt)
  const forgotten = trial.faults.find(
    (fault) => fault.forgets && concerns(fault, line) && grantedSince(first) <= fault.over && fault.t <= end,
  )
  if (forgotten !== undefined && forgotten.t < grantedBy) return null
  const tokens = holds.flatMap(({ token }) => (token === null ? [] : [token]))
  return {
    id: `${p} ${first.i}`,
    p,
    holds,
    raises,
    weight: Math.min(...holds.map(({ weight }) => weight)),
    token: tokens.length === 0 ? null : tokens.reduce((low, token) => (token < low ? token : low)),
    askedAt: chains.begin(first),
    grantedBy,
    leavesAt: Math.max(leavesAt, grantedBy),
    isConfirmed,
    lapsesAt: Math.min(alive, forgotten?.t ?? NEVER),
  }
}

/** One that keeps no account of time stands until it is told otherwise. */
function knownUntil({ until, lostAt }: Hold): Micros {
  return until === NEVER && lostAt !== null ? lostAt : until
}

/** A release that was refused gave nothing up: the place had gone, unless the client keeps no account of time. */
function leftAt({ releasedAt, released, until }: Hold): Micros {
  if (releasedAt === null) return NEVER
  return released === 'fail' && until !== NEVER ? NEVER : releasedAt
}

/**
 * A process asks for one place on behalf of all of its callers: the one that is granted may stand on a place that
 * another asked for and gave up. So a place may be as old as the chain of visits that overlap.
 */
class Chains {
  readonly #begins = new Map<string, Micros>()

  constructor(trial: Trial, { spec }: LineTrial) {
    const open = new Map<string, { begin: Micros; end: Micros }>()
    for (const visit of trial.visits) {
      const { ask } = visit
      if (ask.line !== spec.name) continue
      const chain = open.get(ask.p)
      const end = interest(trial, visit)
      if (chain === undefined || chain.end < ask.t) open.set(ask.p, { begin: ask.t, end })
      else chain.end = Math.max(chain.end, end)
      this.#begins.set(`${ask.p} ${ask.i}`, open.get(ask.p)?.begin ?? ask.t)
    }
  }

  begin({ p, i, invoked }: Hold): Micros {
    return this.#begins.get(`${p} ${i}`) ?? invoked
  }
}

/** When a visit wants nothing any more. */
function interest(trial: Trial, { ask, outcome, answeredAt }: Visit): Micros {
  if (outcome !== 'ok') return answeredAt ?? NEVER
  return trial.holdOf(ask.p, ask.i)?.releasedBy ?? NEVER
}
