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
import { Reading } from './reading.ts'

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
  /** When it was told how its release came out. */
  releasedBy: Micros | null
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

export function makeTrial(events: readonly HistoryEvent[]): Trial {
  const run = events.find((event) => event.e === 'run')
  if (run === undefined) throw new UsageError('the history has no head: its first event must be a "run"')
  const reading = new Reading(run)
  for (const event of events) reading.read(event)
  return reading.trial()
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
 * docs/explain/laws.md.
 */
export const ISSUES_PER_PLACE = 1024n

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

/**
 * Whether the process's own wall clock was moved while it held. A wall clock that runs ahead makes `assertHeld()` throw
 * until the store has been asked: so the holder stops, and its place is where it was.
 */
export function doubtsItsClock(trial: Trial, { p, granted, lostAt }: Hold): boolean {
  return trial.faults.some(
    ({ nemesis, target, t, over }) =>
      nemesis === 'client-clock' && target === p && t <= (lostAt ?? granted) && granted <= over,
  )
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
 * names is a clock that went back *and* data that were lost. Either alone excuses nothing. A line counts on from what
 * its clock once showed: after an hour ahead its tokens are ahead for an hour, whenever in that hour the data are lost.
 */
export function tokensMayFall(trial: Trial, first: Micros, second: Micros): boolean {
  const before = trial.faults.filter((fault) => fault.forgets && fault.line === undefined && fault.t <= second)
  const isBetween = ({ over }: Fault): boolean => first <= over
  return (
    before.some((fault) => movesClock(fault) && (isBetween(fault) || fault.nemesis === 'clock-hour')) &&
    before.some((fault) => !movesClock(fault) && isBetween(fault))
  )
}
