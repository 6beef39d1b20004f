/**
 * Lets the model of a line go through what a history tells of it, step by step. Where the history leaves open when
 * something took effect, all that can have been is followed at once; an event that none of these explains is wrong.
 *
 * Most of it need not be tried: whoever enters later and goes earlier is in nobody's way. So places enter as late as
 * their tokens allow, go as early as they can have gone, and become heavier when that is confirmed. What is tried is
 * the moment of a break: who was inside then weighs until its lease is over, whoever had gone does not.
 */
import { emptyLine, isGrantedIn, type LineEvent, type ModelLine, type ModelPlace, stepLine } from 'holdfast/conformance'
import type { Micros } from '../history/event.ts'
import type { Standing } from './standing.ts'
import type { Fault, Hold } from './trial.ts'

/** What no schedule explains. */
export interface Unexplained {
  readonly hold: Hold
  readonly at: Micros
  readonly why: string
}

export interface ReplayOptions {
  readonly capacity: number
  /** Places enter in the order of their tokens, and are served in it. Else each enters when it is granted. */
  readonly queues: boolean
  /** Whether a holder may have stopped by itself, and needs no explanation for it. */
  readonly doubts: (hold: Hold) => boolean
}

/** In this order at one moment: what makes room, then what takes it, then what was told. */
const KINDS = ['go', 'leave', 'lower', 'open', 'close', 'grant', 'raise', 'gone'] as const

/** What is known of one place: it goes, becomes lighter or heavier, is granted; its holder is told that it is gone. */
interface PlaceStep {
  readonly kind: Exclude<(typeof KINDS)[number], 'open' | 'close'>
  readonly at: Micros
  readonly standing: Standing
  readonly hold: Hold
}

/** From `open` to `close` the break may take effect. */
interface BreakStep {
  readonly kind: 'open' | 'close'
  readonly at: Micros
  readonly fault: Fault
}

type Step = PlaceStep | BreakStep

/** One way that it can have been: the line, and breaks that are under way. */
interface Way {
  readonly line: ModelLine
  readonly due: readonly Fault[]
}

/** Replays until something is unexplained; null: all of it can have been. */
export function replay(
  standings: readonly Standing[],
  breaks: readonly Fault[],
  options: ReplayOptions,
): Unexplained | null {
  return new Replay(standings, options).run(breaks)
}

class Replay {
  readonly #byToken: readonly Standing[]
  readonly #standings: readonly Standing[]
  readonly #options: ReplayOptions
  /** Places that a break may have met before their processes were told of the grant. */
  readonly #metUntold = new Set<string>()
  #ways: readonly Way[]
  /** How many of `#byToken` have entered. */
  #entered = 0
  #turn = 0

  constructor(standings: readonly Standing[], options: ReplayOptions) {
    this.#standings = standings
    this.#options = options
    this.#ways = [{ line: emptyLine(options.capacity), due: [] }]
    this.#byToken = standings.toSorted((a, b) => ((a.token ?? 0n) < (b.token ?? 0n) ? -1 : 1))
  }

  run(breaks: readonly Fault[]): Unexplained | null {
    const steps = [
      ...this.#standings.flatMap((standing) => stepsOf(standing, this.#options.doubts)),
      ...breaks.flatMap(windowOf),
    ]
    steps.sort((a, b) => a.at - b.at || KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind))
    for (const step of steps) {
      if (this.#ways.some(({ due }) => due.length > 0)) this.#branch(step.at)
      const wrong = this.#take(step)
      if (wrong !== null) return wrong
    }
    return null
  }

  #take(step: Step): Unexplained | null {
    if ('fault' in step) return step.kind === 'open' ? this.#begin(step.fault) : this.#settle(step.fault)
    const { kind, standing, hold, at } = step
    const { id, weight } = standing
    if (kind === 'grant') return this.#grant(standing, hold, at)
    if (kind === 'gone') {
      const isExplained = this.#metUntold.has(id)
      return this.#keep(hold, at, (line) => (stands(line, id) && !isExplained ? STANDS : line))
    }
    if (kind === 'go') return this.#each((line) => gone(line, id))
    if (kind === 'leave') return this.#each((line) => (standing.isConfirmed ? gone(line, id) : left(line, id)))
    this.#turn += 1
    const turn = this.#turn
    if (kind === 'lower') return this.#each((line) => send(line, { kind: 'reweigh', id, weight, turn }))
    const raise = { kind: 'reweigh', id, weight: this.#options.capacity, turn } as const
    return this.#keep(hold, at, (line) => raised(line, raise))
  }

  #grant(standing: Standing, hold: Hold, at: Micros): Unexplained | null {
    const late = this.#options.queues ? this.#enterUpTo(standing, at) : this.#enter(standing)
    if (late !== null) return late
    // Who was broken meanwhile had been granted before.
    return this.#keep(hold, at, (line) => {
      const place = find(line, standing.id)
      return place === undefined || place.broken || isGrantedIn(line, place) ? line : inFront(line, place)
    })
  }

  /** All with lower tokens stand in the line by then, since tokens are given as places enter. */
  #enterUpTo(standing: Standing, at: Micros): Unexplained | null {
    for (; this.#entered < this.#byToken.length; this.#entered++) {
      const next = this.#byToken[this.#entered] as Standing
      if ((next.token ?? 0n) > (standing.token ?? 0n)) return null
      const [hold] = next.holds as readonly [Hold]
      if (next.askedAt > at) {
        const why = `its token ${hold.token} is lower than ${standing.token}, which ${standing.p} had before it asked`
        return { hold, at: hold.granted, why }
      }
      this.#enter(next)
    }
    return null
  }

  #enter({ id, weight }: Standing): null {
    const event = { kind: 'enter', id, weight, ttl: Number.POSITIVE_INFINITY, wait: true } as const
    return this.#each((line) => send(line, event))
  }

  #each(change: (line: ModelLine) => ModelLine): null {
    this.#ways = distinct(this.#ways.map((way) => ({ ...way, line: change(way.line) })))
    return null
  }

  /** Goes on with the ways that explain it; a text says why one does not. */
  #keep(hold: Hold, at: Micros, change: (line: ModelLine) => ModelLine | string): Unexplained | null {
    const kept: Way[] = []
    let why = ''
    for (const way of this.#ways) {
      const line = change(way.line)
      if (typeof line === 'string') why = line
      else kept.push({ ...way, line })
    }
    if (kept.length === 0) return { hold, at, why }
    this.#ways = distinct(kept)
    return null
  }

  /**
   * Each break that is under way may take effect now. Schedule: the store grants a place; a break takes effect; then
   * the process is told of the grant, and of the loss. The replay lets a place enter when that is told, or when a place
   * behind it is. So a place that is asked for and would fit in before the break may have been met by it.
   */
  #branch(at: Micros): void {
    const lines = this.#ways.filter(({ due }) => due.length > 0).map(({ line }) => line)
    for (const standing of this.#standings) {
      const isUntold = standing.askedAt <= at && standing.grantedBy >= at && !this.#metUntold.has(standing.id)
      if (isUntold && lines.some((line) => wouldHold(line, standing))) this.#metUntold.add(standing.id)
    }
    const more = this.#ways.flatMap((way) => way.due.map((fault) => broken(way, fault)))
    this.#ways = distinct([...this.#ways, ...more])
  }

  #begin(fault: Fault): null {
    this.#ways = this.#ways.map((way) => ({ ...way, due: [...way.due, fault] }))
    return null
  }

  /** It has taken effect by now; one that failed may have. */
  #settle(fault: Fault): null {
    this.#ways = distinct(
      this.#ways.flatMap((way) => {
        if (!way.due.includes(fault)) return [way]
        const without = { ...way, due: way.due.filter((other) => other !== fault) }
        return fault.healed ? [broken(way, fault)] : [without, broken(way, fault)]
      }),
    )
    return null
  }
}

function stepsOf(standing: Standing, doubts: (hold: Hold) => boolean): Step[] {
  const { holds, raises, grantedBy, leavesAt, lapsesAt } = standing
  const [first] = holds as readonly [Hold]
  const steps: Step[] = [{ at: grantedBy, kind: 'grant', standing, hold: first }]
  const add = (kind: PlaceStep['kind'], at: Micros, hold: Hold): void => {
    if (at < Number.POSITIVE_INFINITY) steps.push({ at, kind, standing, hold })
  }
  add('leave', leavesAt, first)
  // At one moment a place is granted first, if the store dropped it at once.
  add('go', lapsesAt === grantedBy ? lapsesAt + 0.5 : lapsesAt, first)
  for (const raise of raises) {
    if (raise.until <= raise.granted || raise.granted >= lapsesAt) continue
    add('raise', raise.granted, raise)
    if (raise.releasedAt !== null) add('lower', raise.releasedAt, raise)
  }
  for (const hold of [...holds, ...raises]) {
    if (hold.until === Number.POSITIVE_INFINITY) continue
    if (hold.lostAt !== null && hold.lostAt < hold.until && !doubts(hold)) add('gone', hold.lostAt, hold)
    if (hold.released === 'fail' && hold.releasedBy !== null && hold.releasedBy < hold.until)
      add('gone', hold.releasedBy, hold)
  }
  return steps
}

function windowOf(fault: Fault): Step[] {
  const to = closeOf(fault)
  const close: Step[] = to < Number.POSITIVE_INFINITY ? [{ at: to, kind: 'close', fault }] : []
  return [{ at: fault.t, kind: 'open', fault }, ...close]
}

/** When a break has taken effect by; one that failed may at any time until the store has forgotten it. */
function closeOf({ healed, from, over }: Fault): Micros {
  return healed ? from : over
}

/** Time stands still in the replay: leases end when the history says so. */
function send(line: ModelLine, event: LineEvent): ModelLine {
  return stepLine(line, event, 0).line
}

function broken({ line, due }: Way, fault: Fault): Way {
  return { line: send(line, { kind: 'break', atOnce: false }), due: due.filter((other) => other !== fault) }
}

/** Whether the place would be granted if it entered now. */
function wouldHold(line: ModelLine, { id, weight }: Standing): boolean {
  const event = { kind: 'enter', id, weight, ttl: Number.POSITIVE_INFINITY, wait: false } as const
  return !has(line, id) && stepLine(line, event, 0).answer !== null
}

/** Its lease is over, broken or not; or it left before it was told of the break. */
function gone(line: ModelLine, id: string): ModelLine {
  if (!has(line, id)) return line
  const places = line.places.map((place) => (place.id === id ? { ...place, lapsesAt: 0 } : place))
  return send({ ...line, places }, { kind: 'touch', id: '' })
}

/** It has let go: what is broken stays. */
function left(line: ModelLine, id: string): ModelLine {
  return has(line, id) ? send(line, { kind: 'leave', id }) : line
}

function raised(line: ModelLine, event: LineEvent & { readonly kind: 'reweigh' }): ModelLine | string {
  const place = find(line, event.id)
  // Who was broken meanwhile was heavy before.
  if (place === undefined || place.broken) return line
  const step = stepLine(line, event, 0)
  return step.answer?.granted === true ? step.line : `others read beside it: ${names(line, event.id)}`
}

function inFront(line: ModelLine, place: ModelPlace): string {
  const ahead = { ...line, places: line.places.filter(({ token }) => token < place.token) }
  return `in front of it stood ${names(ahead, place.id)}`
}

function names({ places }: ModelLine, but: string): string {
  const others = places.filter(({ id }) => id !== but)
  return others.map(({ id, broken: isBroken }) => (isBroken ? `${id} (broken)` : id)).join(', ') || 'nobody'
}

const STANDS = 'it stands in the line, and nobody has broken it'

function stands(line: ModelLine, id: string): boolean {
  return find(line, id)?.broken === false
}

function find(line: ModelLine, id: string): ModelPlace | undefined {
  return line.places.find((place) => place.id === id)
}

function has(line: ModelLine, id: string): boolean {
  return find(line, id) !== undefined
}

/** Ways that can't be told apart any more are one. */
function distinct(ways: readonly Way[]): readonly Way[] {
  if (ways.length === 1) return ways
  const byKey = new Map<string, Way>()
  for (const way of ways) {
    const places = way.line.places.map(({ id, broken: isBroken }) => `${id}${isBroken ? '!' : ''}`)
    const { raise } = way.line
    byKey.set(`${places.join()}|${raise?.id} ${raise?.beside}|${way.due.map(({ id }) => id).join()}`, way)
  }
  return [...byKey.values()]
}
