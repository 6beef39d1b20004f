/**
 * A history, sorted out for judgement: who held what from when to when, and what was done to them. One pass, linear.
 */
import { UsageError } from 'holdfast'
import type {
  AcquireEvent,
  EffectEvent,
  FaultEvent,
  HistoryEvent,
  LeftEvent,
  LineSpec,
  Micros,
  Outcome,
  PhaseEvent,
  ProbeEvent,
  QueuedEvent,
  RunEvent,
} from '../history/event.ts'

/** One visit of a client to a line. */
export interface Visit {
  readonly ask: AcquireEvent
  outcome: Outcome | null
  answeredAt: Micros | null
}

/** A visit that was granted. */
export interface Hold {
  readonly p: string
  readonly i: number
  readonly line: string
  readonly exclusive: boolean
  readonly weight: number
  readonly token: bigint | null
  readonly invoked: Micros
  readonly granted: Micros
  /** The local deadline that was last seen; Infinity where the client knows of none. */
  until: Micros
  /** When it began to let go. */
  releasedAt: Micros | null
  released: Outcome | null
  lostAt: Micros | null
  /** The hold whose place this is, made heavier; null: a place of its own. */
  readonly over: Hold | null
  /** When its place was first made heavier: from then on it is the writer's. */
  raisedAt: Micros
  /** Its caller had given up before it was granted. */
  readonly aborted: boolean
  /**
   * The end of its belief: it let go, or its deadline passed, or it found out, or its process died. Never later than it
   * was.
   */
  ended: Micros
}

/** A time in which a process certainly stood still. */
export interface Standstill {
  readonly from: Micros
  readonly to: Micros
}

/** A fault and its end; Infinity where the history has none. */
export interface Fault extends FaultEvent {
  from: Micros
  to: Micros
  /** Until here the store may act on what it forgot. */
  over: Micros
  healed: boolean
}

export interface LineTrial {
  readonly spec: LineSpec
  readonly holds: Hold[]
  readonly effects: EffectEvent[]
  /** When one of those who wait was woken. */
  readonly woken: Micros[]
  /** When a process was told that a place of its own has to wait. */
  readonly queued: QueuedEvent[]
}

export interface Trial {
  readonly run: RunEvent
  readonly lines: ReadonlyMap<string, LineTrial>
  readonly visits: readonly Visit[]
  readonly holds: readonly Hold[]
  readonly holdOf: (p: string, i: number) => Hold | undefined
  readonly faults: readonly Fault[]
  readonly standstills: ReadonlyMap<string, readonly Standstill[]>
  /** When a process ended, other than in order. */
  readonly deaths: ReadonlyMap<string, Micros>
  readonly stuck: ReadonlyMap<string, string>
  readonly crashed: ReadonlyMap<string, string>
  readonly phases: ReadonlyMap<PhaseEvent['name'], Micros>
  readonly probes: readonly ProbeEvent[]
  readonly left: readonly LeftEvent[]
  readonly start: Micros
  readonly end: Micros
}

/** Nemeses that stop one client process from running. */
const STOPS = new Set(['pause-holder', 'pause-client'])

export function makeTrial(events: readonly HistoryEvent[]): Trial {
  const run = events.find((event) => event.e === 'run')
  if (run === undefined) throw new UsageError('the history has no head: its first event must be a "run"')
  const lines = new Map<string, LineTrial>(
    run.lines.map((spec) => [spec.name, { spec, holds: [], effects: [], woken: [], queued: [] }]),
  )
  const visits = new Map<string, Visit>()
  const holds = new Map<string, Hold>()
  const faults = new Map<number, Fault>()
  const standstills = new Map<string, Standstill[]>()
  const deaths = new Map<string, Micros>()
  const stuck = new Map<string, string>()
  const crashed = new Map<string, string>()
  const phases = new Map<PhaseEvent['name'], Micros>()
  const probes: ProbeEvent[] = []
  const left: LeftEvent[] = []
  const still = (p: string, from: Micros, to: Micros): void => {
    const list = standstills.get(p)
    if (list === undefined) standstills.set(p, [{ from, to }])
    else list.push({ from, to })
  }
  let end = run.t
  for (const event of events) {
    if (event.t > end) end = event.t
    switch (event.e) {
      case 'acquire':
        visits.set(key(event), { ask: event, outcome: null, answeredAt: null })
        break
      case 'acquired': {
        const visit = visits.get(key(event))
        if (visit === undefined) break
        visit.outcome = event.outcome
        visit.answeredAt = event.t
        if (event.outcome !== 'ok') break
        const { line, exclusive, weight, t: invoked, over: base } = visit.ask
        const over = base === undefined ? null : (holds.get(key({ p: event.p, i: base })) ?? null)
        if (over !== null) over.raisedAt = Math.min(over.raisedAt, event.t)
        const hold: Hold = {
          p: event.p,
          i: event.i,
          line,
          exclusive,
          weight,
          token: event.token === undefined ? null : BigInt(event.token),
          invoked,
          granted: event.t,
          until: event.until ?? Number.POSITIVE_INFINITY,
          releasedAt: null,
          released: null,
          lostAt: null,
          over,
          raisedAt: Number.POSITIVE_INFINITY,
          aborted: event.aborted === true,
          ended: Number.POSITIVE_INFINITY,
        }
        holds.set(key(event), hold)
        lines.get(line)?.holds.push(hold)
        break
      }
      case 'lost': {
        const hold = holds.get(key(event))
        if (hold !== undefined) hold.lostAt = event.t
        break
      }
      case 'release': {
        const hold = holds.get(key(event))
        if (hold === undefined) break
        hold.releasedAt = event.t
        extend(hold, event.until, event.t)
        break
      }
      case 'released': {
        const hold = holds.get(key(event))
        if (hold !== undefined) hold.released = event.outcome
        break
      }
      case 'effect': {
        lines.get(event.line)?.effects.push(event)
        const hold = holds.get(key(event))
        if (hold !== undefined) extend(hold, event.until, event.begun)
        break
      }
      case 'fault': {
        const forever = Number.POSITIVE_INFINITY
        faults.set(event.id, { ...event, from: event.t, to: forever, over: forever, healed: false })
        break
      }
      case 'healed': {
        const fault = faults.get(event.id)
        if (fault === undefined) break
        fault.from = event.from
        fault.to = event.to
        fault.over = event.t + event.graceMs * 1_000
        fault.healed = event.error === undefined
        if (STOPS.has(fault.nemesis)) still(fault.target, event.from, event.to)
        break
      }
      case 'blocked':
        still(event.p, event.from, event.t)
        break
      case 'woken':
        lines.get(event.line)?.woken.push(event.t)
        break
      case 'queued':
        lines.get(event.line)?.queued.push(event)
        break
      case 'phase':
        phases.set(event.name, event.t)
        break
      case 'probe':
        probes.push(event)
        break
      case 'left':
        left.push(event)
        break
      case 'exit':
        if (event.how !== 'stopped') deaths.set(event.p, event.t)
        if (event.how === 'stuck') stuck.set(event.p, event.detail ?? '')
        if (event.how === 'crashed') crashed.set(event.p, event.detail ?? '')
        break
      case 'run':
        break
    }
  }
  const all = [...holds.values()]
  for (const hold of all) hold.ended = beliefEnd(hold, deaths.get(hold.p))
  return {
    run,
    lines,
    visits: [...visits.values()],
    holds: all,
    holdOf: (p, i) => holds.get(`${p} ${i}`),
    faults: [...faults.values()],
    standstills,
    deaths,
    stuck,
    crashed,
    phases,
    probes,
    left,
    start: run.t,
    end,
  }
}

function key(event: { readonly p: string; readonly i: number }): string {
  return `${event.p} ${event.i}`
}

/**
 * A deadline that is still to come was moved by a renewal. One with nothing left says only that there is nothing left.
 */
function extend(hold: Hold, until: Micros | undefined, seenAt: Micros): void {
  if (until !== undefined && until > seenAt && until > hold.until) hold.until = until
}

/**
 * A release that succeeded shows that it held until then, whatever deadline was seen last: renewals are not in the
 * history.
 */
function beliefEnd(hold: Hold, diedAt: Micros = Number.POSITIVE_INFINITY): Micros {
  const { releasedAt, lostAt, until, raisedAt } = hold
  if (releasedAt !== null && hold.released === 'ok') return Math.min(releasedAt, raisedAt)
  const told = Math.min(releasedAt ?? Number.POSITIVE_INFINITY, lostAt ?? Number.POSITIVE_INFINITY)
  return Math.max(hold.granted, Math.min(told, until, diedAt, raisedAt))
}

/**
 * The process was stopped between the store's answer and its caller: when the caller is told, the deadline has passed,
 * others have held the line since, and the claim says so at once. It was granted long before the stamp that it was
 * written down with, and believed at no time.
 */
export function isStillborn({ until, granted }: Hold): boolean {
  return until <= granted
}

/** Whether a fault hit one client process, by the name of its target; else it hit servers, or the ways to them. */
export function hitsClient(target: string): boolean {
  return /^c\d+(\.\d+)?$/.test(target)
}

/**
 * A token is the number of a place times this, and counts up when the place is handed on inside its process; see
 * docs/laws.md.
 */
const ISSUES_PER_PLACE = 1024n

/** The first hold of each place that was handed on, by the holds that followed. */
export function firstOfPlace(holds: readonly Hold[]): (hold: Hold) => Hold {
  const places = new Map<string, Hold[]>()
  const key = ({ p, token }: Hold): string => `${p} ${(token ?? 0n) / ISSUES_PER_PLACE}`
  for (const hold of holds) {
    if (hold.token === null || hold.token % ISSUES_PER_PLACE !== 0n) continue
    const same = places.get(key(hold))
    if (same === undefined) places.set(key(hold), [hold])
    else same.push(hold)
  }
  // A store that forgot may give a number twice: the latest place of that number by then.
  return (hold) => places.get(key(hold))?.findLast(({ granted }) => granted <= hold.granted) ?? hold
}

/** By so much a client may write down too late what it was told: other processes had the processor. */
const STAMP_LATE_US = 50_000

/** From when on the store may have granted it. */
export function grantedSince({ invoked, granted }: Hold): Micros {
  return Math.max(invoked, granted - STAMP_LATE_US)
}

/** Whether it was done to this line, too. */
export function concerns(fault: FaultEvent, line: string): boolean {
  return fault.line === undefined || fault.line === line
}

/** Whether a fault explains that another was granted the line by then: the store may have forgotten the first. */
export function excused(trial: Trial, first: Hold, second: Micros): boolean {
  const since = grantedSince(first)
  return trial.faults.some(
    (fault) => fault.forgets && concerns(fault, first.line) && fault.t <= second && since <= fault.over,
  )
}

/**
 * The same for two holds of a line, whichever was written down first. What the store forgot is a place, and its process
 * hands it on until it is told: A holds, the data are lost, B is granted the line, and then A hands its place to its
 * next. That is the older of the two for all that.
 */
export function forgotOne(trial: Trial, first: (hold: Hold) => Hold, one: Hold, other: Hold): boolean {
  const [a, b] = [first(one), first(other)]
  if (a === b) return false
  const [older, younger] = a.granted <= b.granted ? [a, b] : [b, a]
  return excused(trial, older, younger.granted)
}

/** A fault that moves a server's wall clock, on a store that goes by it. */
function movesClock({ nemesis, forgets }: FaultEvent): boolean {
  return forgets && nemesis.startsWith('clock-')
}

/**
 * Whether tokens may have fallen between the two: the one exception that a store which takes its tokens from its clock
 * names is a clock that went back *and* data that were lost. Either alone excuses nothing.
 */
export function tokensMayFall(trial: Trial, first: Micros, second: Micros): boolean {
  const between = trial.faults.filter(
    (fault) => fault.forgets && fault.line === undefined && fault.t <= second && first <= fault.over,
  )
  return between.some(movesClock) && between.some((fault) => !movesClock(fault))
}
