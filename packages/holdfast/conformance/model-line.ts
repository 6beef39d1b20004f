/**
 * A line as a pure step: (line, event) → (line, answer). This is what every store promises, on one page, without how
 * the store keeps it. The checker enumerates it, the simulation and the real stores are compared with it, and histories
 * of torture are replayed through it.
 *
 * Times are absolute, by the clock of the store. A world of small numbers keeps `now` at 0 and lets time pass by
 * `shift`.
 */

/** One contender. Its weight is that of its enter. */
export interface ModelPlace {
  readonly id: string
  readonly token: number
  readonly weight: number
  /** Its lease. */
  readonly ttl: number
  /** When its lease is over, unless it is renewed. */
  readonly lapsesAt: number
  /** True: it can't be renewed any more, and counts until it lapses. */
  readonly broken: boolean
  /** Counts the changes of its weight; a request with a lower number is late. */
  readonly turn: number
}

/** A place that has become heavier. Places up to `beside` were granted before that, and stay granted until they go. */
export interface ModelRaise {
  readonly id: string
  readonly weight: number
  /** The last token that was granted before. */
  readonly beside: number
}

/** A line: its places, and what it remembers. */
export interface ModelLine {
  readonly capacity: number
  /** In the order of their tokens. */
  readonly places: readonly ModelPlace[]
  /** The place that has become heavier, if there is one. */
  readonly raise: ModelRaise | null
  /** The last token that was given out. */
  readonly counter: number
  /** Ids that left before they entered, or have another name now: a late enter of theirs is refused. */
  readonly tombstones: readonly string[]
}

/** What can be done to a line. */
export type LineEvent =
  | {
      readonly kind: 'enter'
      readonly id: string
      readonly weight: number
      readonly ttl: number
      readonly wait: boolean
    }
  | { readonly kind: 'touch'; readonly id: string }
  | { readonly kind: 'leave'; readonly id: string }
  | { readonly kind: 'reweigh'; readonly id: string; readonly weight: number; readonly turn: number }
  | { readonly kind: 'rename'; readonly id: string; readonly to: string }
  | { readonly kind: 'break'; readonly atOnce: boolean }

/** Where a contender stands. */
export interface ModelAnswer {
  readonly token: number
  /** The weight ahead. */
  readonly ahead: number
  /** Its own weight: of a raised place the heavier one. */
  readonly weight: number
  /** Whether it holds. */
  readonly granted: boolean
  /** True: another contender of the line waits. */
  readonly wanted: boolean
}

/** The outcome of an event. */
export interface LineStep {
  /** The line afterwards. */
  readonly line: ModelLine
  /** null: there is no such place; or there is no room, and the contender does not wait. */
  readonly answer: ModelAnswer | null
  /** How many holders were broken. */
  readonly broken: number
}

/** A line and an event in, the line afterwards out. */
export type StepLine = (line: ModelLine, event: LineEvent, now: number) => LineStep

/** An empty line. */
export function emptyLine(capacity: number): ModelLine {
  return { capacity, places: [], raise: null, counter: 0, tombstones: [] }
}

/** The weight ahead of a place. A raised place also waits for those that were granted beside it. */
export function ahead({ places, raise }: ModelLine, place: ModelPlace): number {
  const isRaised = raise?.id === place.id
  const inFront = (other: ModelPlace): boolean =>
    other.id !== place.id && (isRaised ? other.token <= raise.beside : other.token < place.token)
  const first = places.find(({ id }) => id === raise?.id)
  const isHeavier = raise !== null && first !== undefined && !isRaised && place.token > raise.beside
  return places.filter(inFront).reduce((sum, { weight }) => sum + weight, isHeavier ? raise.weight - first.weight : 0)
}

/** The one rule: the weight ahead and the own weight fit into the capacity. */
export function isGrantedIn(line: ModelLine, place: ModelPlace): boolean {
  return ahead(line, place) + weightIn(line, place) <= line.capacity
}

function weightIn({ raise }: ModelLine, place: ModelPlace): number {
  return raise?.id === place.id ? raise.weight : place.weight
}

/** The places that hold. A raised place that still waits holds with its first weight. */
export function holders(line: ModelLine): ModelPlace[] {
  return line.places.filter((place) => isGrantedIn(line, place) || line.raise?.id === place.id)
}

/** Removes the places whose time is over. */
export function purge(line: ModelLine, now: number): ModelLine {
  if (line.places.every(({ lapsesAt }) => lapsesAt > now)) return line
  return keep(line, ({ lapsesAt }) => lapsesAt > now)
}

/** Lets so much time pass. */
export function shift(line: ModelLine, by: number): ModelLine {
  return { ...line, places: line.places.map((place) => ({ ...place, lapsesAt: place.lapsesAt - by })) }
}

/** The laws of a line as one function. */
export const stepLine: StepLine = (before, event, now) => {
  const line = purge(before, now)
  if (event.kind === 'break') return breakHolders(line, event.atOnce)
  const place = line.places.find(({ id }) => id === event.id)
  switch (event.kind) {
    case 'enter':
      if (place !== undefined) return renew(line, place, now)
      return line.tombstones.includes(event.id) ? nothing(line) : join(line, event, now)
    case 'touch':
      return place === undefined ? nothing(line) : renew(line, place, now)
    case 'leave':
      if (place === undefined) return nothing(bury(line, event.id))
      // The holder of a broken place may still be at work: the place counts until it lapses.
      return nothing(place.broken ? line : keep(line, ({ id }) => id !== place.id))
    case 'reweigh':
      if (place === undefined || place.broken) return nothing(line)
      return renew(event.turn > place.turn ? weigh(line, place, event.weight, event.turn) : line, place, now)
    case 'rename':
      return rename(line, event, now)
    default:
      throw new Error('no such event')
  }
}

/** The place continues under another id; the old id never comes back. */
function rename(line: ModelLine, { id, to }: LineEvent & { kind: 'rename' }, now: number): LineStep {
  const heir = line.places.find((place) => place.id === id || place.id === to)
  if (heir === undefined || heir.broken) return nothing(line)
  const named = change(line, heir.id, (each) => ({ ...each, id: to }))
  return renew(heir.id === to ? named : bury(named, id), { ...heir, id: to }, now)
}

function join(line: ModelLine, event: LineEvent & { kind: 'enter' }, now: number): LineStep {
  const { id, weight, ttl } = event
  const place = { id, token: line.counter + 1, weight, ttl, lapsesAt: now + ttl, broken: false, turn: 0 }
  const joined = { ...line, places: [...line.places, place], counter: place.token }
  return !event.wait && !isGrantedIn(joined, place) ? nothing(line) : stand(joined, place)
}

function renew(line: ModelLine, place: ModelPlace, now: number): LineStep {
  if (place.broken) return nothing(line)
  const renewed = change(line, place.id, (each) => ({ ...each, lapsesAt: now + each.ttl }))
  return stand(renewed, place)
}

/** Heavier: from then on nobody else is granted. Lighter: whoever fits is granted. */
function weigh(line: ModelLine, place: ModelPlace, weight: number, turn: number): ModelLine {
  const counted = change(line, place.id, (each) => ({ ...each, turn }))
  if (weight === place.weight) return { ...counted, raise: line.raise?.id === place.id ? null : line.raise }
  const beside = holders(line).at(-1)?.token ?? place.token
  return { ...counted, raise: { id: place.id, weight, beside } }
}

function breakHolders(line: ModelLine, atOnce: boolean): LineStep {
  const ids = new Set(holders(line).map(({ id }) => id))
  const places = line.places.map((place) => (ids.has(place.id) ? { ...place, broken: true } : place))
  const after = atOnce ? keep(line, ({ id }) => !ids.has(id)) : { ...line, places }
  return { line: after, answer: null, broken: ids.size }
}

function stand(line: ModelLine, place: ModelPlace): LineStep {
  const granted = isGrantedIn(line, place)
  const wanted = line.places.some((other) => other.id !== place.id && !isGrantedIn(line, other))
  return {
    line,
    answer: { token: place.token, ahead: ahead(line, place), weight: weightIn(line, place), granted, wanted },
    broken: 0,
  }
}

function nothing(line: ModelLine): LineStep {
  return { line, answer: null, broken: 0 }
}

function bury(line: ModelLine, id: string): ModelLine {
  return line.tombstones.includes(id) ? line : { ...line, tombstones: [...line.tombstones, id] }
}

function keep(line: ModelLine, isKept: (place: ModelPlace) => boolean): ModelLine {
  const places = line.places.filter(isKept)
  const raise = places.some(({ id }) => id === line.raise?.id) ? line.raise : null
  return { ...line, places, raise }
}

function change(line: ModelLine, id: string, how: (place: ModelPlace) => ModelPlace): ModelLine {
  const raise =
    line.raise?.id === id ? { ...line.raise, id: how(line.places.find((p) => p.id === id)!).id } : line.raise
  return { ...line, raise, places: line.places.map((place) => (place.id === id ? how(place) : place)) }
}
