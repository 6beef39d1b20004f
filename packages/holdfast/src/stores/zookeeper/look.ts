/** What the children of a line mean for one place: who stands in front, who behind, and whose leaving matters. */
import { type Entry, isGranted } from '../../driver.ts'
import type { Named } from './layout.ts'

export interface Look {
  /** The weight in front. */
  readonly ahead: number
  /** Somebody stands behind. */
  readonly wanted: boolean
  /** The line's: that of its first place. */
  readonly capacity: number
  /** Those whose leaving could let me in; empty when granted. */
  readonly blocking: readonly Named[]
  /** Exactly one stands in front. */
  readonly single: boolean
}

/**
 * The server numbers the children of a node by counting creations in 32 signed bits. Past the last number it starts below
 * zero, and falls back to the last number again once it has written that down (its counter only ever grows), so that two
 * nodes can have one number. Near the end the numbers are therefore not trusted.
 */
const NUMBER_MAX = 2 ** 31 - 2 ** 20

/** The same as the server writes it: ten digits, which compare like the numbers. */
const DIGITS = 10
const NUMBER_TEXT_MAX = String(NUMBER_MAX)

export function needsCzxid(line: readonly Named[]): boolean {
  return line.some(({ order }) => order < 0 || order >= NUMBER_MAX)
}

export function inOrder(line: readonly Named[]): Named[] {
  return line.toSorted((a, b) => a.order - b.order)
}

/** Nobody else is in the line. */
export function alone(entry: Pick<Entry, 'capacity'>): Look {
  return { ahead: 0, wanted: false, capacity: entry.capacity, blocking: [], single: false }
}

/** Where the place with this id stands; null: nowhere. */
export function lookFrom(line: readonly Named[], id: string): Look | null {
  const me = line.find((place) => place.id === id)
  if (me === undefined) return null
  let oldest = me
  let ahead = 0
  let wanted = false
  const inFront: Named[] = []
  for (const place of line) {
    if (place.order < oldest.order) oldest = place
    if (place.order > me.order) wanted = true
    if (place.order >= me.order) continue
    ahead += place.weight
    inFront.push(place)
  }
  const blocking = isGranted(me, { ahead }) ? [] : blockingSet(me, inFront)
  return { ahead, wanted, capacity: oldest.capacity, blocking, single: inFront.length === 1 }
}

/**
 * The same for a place that wants the whole line, from the names alone: whoever stands next in front blocks it, whatever
 * the others are, so that of a hundred only the next and the first are parsed. null: parse them all, there is something
 * unusual among them.
 */
export function glanceFrom(
  names: readonly string[],
  mine: string,
  entry: Pick<Entry, 'weight' | 'capacity'>,
  parse: (name: string) => Named | null,
): Look | null {
  if (entry.weight !== entry.capacity) return null
  const myNumber = mine.slice(-DIGITS)
  let [found, wanted] = [false, false]
  let [next, nextNumber, first, firstNumber] = ['', '', mine, myNumber]
  for (const name of names) {
    const number = name.slice(-DIGITS)
    if (number < '0' || number >= NUMBER_TEXT_MAX) return null
    if (number > myNumber) wanted = true
    else if (name === mine) found = true
    else {
      if (number >= nextNumber) [next, nextNumber] = [name, number]
      if (number < firstNumber) [first, firstNumber] = [name, number]
    }
  }
  if (!found) return null
  if (next === '') return { ...alone(entry), wanted }
  const [blocking, oldest] = [parse(next), parse(first)]
  if (blocking === null || oldest === null) return null
  const single = next === first
  return { ahead: blocking.weight, wanted, capacity: oldest.capacity, blocking: [blocking], single }
}

/**
 * The nearest in front whose weights sum to more than my room: as long as all of them stand I am blocked, whatever goes
 * on before them; when one goes, it is time to look again. One for a mutex, the nearest writer for a reader, up to n for
 * n permits.
 */
function blockingSet(me: Named, inFront: readonly Named[]): Named[] {
  const room = me.capacity - me.weight
  const nearest = inFront.reduce((near, place) => (place.order > near.order ? place : near))
  if (nearest.weight > room) return [nearest]
  const set: Named[] = []
  let sum = 0
  for (const place of inOrder(inFront).toReversed()) {
    // One that blocks alone is watched alone: a reader sleeps through the leaving of the readers behind its writer.
    if (place.weight > room) return [place]
    set.push(place)
    sum += place.weight
    if (sum > room) break
  }
  return set
}

/** The places granted now: those of the front whose weights fit together. Takes the line in order. */
export function grantedOf(line: readonly Named[]): Named[] {
  const capacity = line[0]?.capacity ?? 0
  const granted: Named[] = []
  let used = 0
  for (const place of line) {
    used += place.weight
    if (used > capacity) break
    granted.push(place)
  }
  return granted
}
