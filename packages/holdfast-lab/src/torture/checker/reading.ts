/** Reads a history event by event, and keeps what a trial needs of it. */
import type {
  AcquiredEvent,
  ExitEvent,
  HealedEvent,
  HistoryEvent,
  LeftEvent,
  Micros,
  PhaseEvent,
  ProbeEvent,
  RunEvent,
} from '../history/event.ts'
import type { Fault, Hold, LineTrial, Standstill, Trial, Visit } from './trial.ts'

/** Nemeses that stop one client process from running. */
const STOPS = new Set(['pause-holder', 'pause-client'])

export class Reading {
  readonly #run: RunEvent
  readonly #lines: Map<string, LineTrial>
  readonly #visits = new Map<string, Visit>()
  readonly #holds = new Map<string, Hold>()
  readonly #faults = new Map<number, Fault>()
  readonly #standstills = new Map<string, Standstill[]>()
  readonly #deaths = new Map<string, Micros>()
  readonly #stuck = new Map<string, string>()
  readonly #crashed = new Map<string, string>()
  readonly #phases = new Map<PhaseEvent['name'], Micros>()
  readonly #probes: ProbeEvent[] = []
  readonly #left: LeftEvent[] = []
  #end: Micros

  constructor(run: RunEvent) {
    this.#run = run
    this.#end = run.t
    this.#lines = new Map(run.lines.map((spec) => [spec.name, { spec, holds: [], effects: [], woken: [], queued: [] }]))
  }

  read(event: HistoryEvent): void {
    if (event.t > this.#end) this.#end = event.t
    this.#readVisit(event)
    this.#readLine(event)
    this.#readWorld(event)
  }

  trial(): Trial {
    const holds = [...this.#holds.values()]
    for (const hold of holds) hold.ended = beliefEnd(hold, this.#deaths.get(hold.p))
    return {
      run: this.#run,
      lines: this.#lines,
      visits: [...this.#visits.values()],
      holds,
      holdOf: (p, i) => this.#holds.get(key({ p, i })),
      faults: [...this.#faults.values()],
      standstills: this.#standstills,
      deaths: this.#deaths,
      stuck: this.#stuck,
      crashed: this.#crashed,
      phases: this.#phases,
      probes: this.#probes,
      left: this.#left,
      start: this.#run.t,
      end: this.#end,
    }
  }

  /** What a client asked for and was answered. */
  #readVisit(event: HistoryEvent): void {
    if (event.e === 'acquire') this.#visits.set(key(event), { ask: event, outcome: null, answeredAt: null })
    if (event.e === 'acquired') this.#answered(event)
    if (event.e !== 'lost' && event.e !== 'release' && event.e !== 'released' && event.e !== 'effect') return
    const hold = this.#holds.get(key(event))
    if (hold === undefined) return
    if (event.e === 'lost') hold.lostAt ??= event.t
    if (event.e === 'released') {
      hold.released = event.outcome
      hold.releasedBy = event.t
    }
    if (event.e === 'effect') extend(hold, event.until, event.begun)
    if (event.e === 'release') {
      hold.releasedAt = event.t
      extend(hold, event.until, event.t)
    }
  }

  #answered(event: AcquiredEvent): void {
    const visit = this.#visits.get(key(event))
    if (visit === undefined) return
    visit.outcome = event.outcome
    visit.answeredAt = event.t
    if (event.outcome !== 'ok') return
    const { line, exclusive, weight, t: invoked, over: base } = visit.ask
    const over = base === undefined ? null : (this.#holds.get(key({ p: event.p, i: base })) ?? null)
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
      releasedBy: null,
      lostAt: null,
      over,
      raisedAt: Number.POSITIVE_INFINITY,
      aborted: event.aborted === true,
      ended: Number.POSITIVE_INFINITY,
    }
    this.#holds.set(key(event), hold)
    this.#lines.get(line)?.holds.push(hold)
  }

  /** What happened in a line. */
  #readLine(event: HistoryEvent): void {
    if (event.e === 'effect') this.#lines.get(event.line)?.effects.push(event)
    if (event.e === 'woken') this.#lines.get(event.line)?.woken.push(event.t)
    if (event.e === 'queued') this.#lines.get(event.line)?.queued.push(event)
  }

  /** What was done to servers and processes, and what was found afterwards. */
  #readWorld(event: HistoryEvent): void {
    if (event.e === 'fault') {
      const forever = Number.POSITIVE_INFINITY
      this.#faults.set(event.id, { ...event, from: event.t, to: forever, over: forever, healed: false })
    }
    if (event.e === 'healed') this.#healed(event)
    if (event.e === 'blocked') this.#stoodStill(event.p, event.from, event.t)
    if (event.e === 'phase') this.#phases.set(event.name, event.t)
    if (event.e === 'probe') this.#probes.push(event)
    if (event.e === 'left') this.#left.push(event)
    if (event.e === 'exit') this.#exited(event)
  }

  #healed(event: HealedEvent): void {
    const fault = this.#faults.get(event.id)
    if (fault === undefined) return
    fault.from = event.from
    fault.to = event.to
    fault.over = event.t + event.graceMs * 1_000
    fault.healed = event.error === undefined
    if (STOPS.has(fault.nemesis)) this.#stoodStill(fault.target, event.from, event.to)
  }

  #exited({ p, t, how, detail = '' }: ExitEvent): void {
    if (how !== 'stopped') this.#deaths.set(p, t)
    if (how === 'stuck') this.#stuck.set(p, detail)
    if (how === 'crashed') this.#crashed.set(p, detail)
  }

  #stoodStill(p: string, from: Micros, to: Micros): void {
    const list = this.#standstills.get(p)
    if (list === undefined) this.#standstills.set(p, [{ from, to }])
    else list.push({ from, to })
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
