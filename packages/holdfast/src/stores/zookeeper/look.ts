/** What the children of a line mean for one place: who stands ahead, who behind, and whose leaving matters. */
import { type Entry, isGranted } from '../../contract/driver.ts'
import { holdersOf } from '../shared/holders.ts'
import type { Named } from './layout.ts'
import { fullWeight, isBeside, type Raise, raisedIn } from './raise.ts'

export interface Look {
  /** The weight ahead. */
  readonly ahead: number
  /** True: another place stands behind. */
  readonly wanted: boolean
  /** The capacity of the line: that of its first place. */
  readonly capacity: number
  /** The places whose leaving could let this place in; empty when it is granted. */
  readonly blocking: readonly Named[]
  /** True: exactly one place is ahead. */
  readonly single: boolean
}

/**
 * The server numbers the children of a node by counting creations in 32 signed bits. After the last number it starts
 * below zero. It falls back to the last number again once it has written that down (its counter only ever grows), so
 * two nodes can have one number. Near the end, therefore, the numbers are not trusted.
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

/** Where the place with this id stands; null: nowhere. `granted`: its owner knows of its grant. */
export function lookFrom(line: readonly Named[], id: string, granted = false): Look | null {
  const me = line.find((place) => place.id === id)
  if (me === undefined) return null
  if (me.raise !== undefined) return lookOfRaised(line, me, me.raise)
  const raised = raisedIn(line)
  const isHeavy = raised?.raise !== undefined && !isBeside(raised.raise, me, granted)
  let oldest = me
  let ahead = 0
  let all = 0
  let isFollowed = false
  const inFront: Named[] = []
  for (const place of line) {
    all += place.weight
    if (place.order < oldest.order) oldest = place
    if (place.order > me.order) isFollowed = true
    if (place.order >= me.order) continue
    const weight = place === raised && isHeavy ? fullWeight(place) : place.weight
    ahead += weight
    inFront.push(weight === place.weight ? place : { ...place, weight })
  }
  const isIn = isGranted(me, { ahead })
  // Beside a granted place others may be granted, even behind it. So somebody waits if not all fit, or to become
  // heavier.
  const wanted = isIn && me.weight < me.capacity ? raised !== null || all > me.capacity : isFollowed
  const blocking = isIn ? [] : withMark(me, blockingSet(me, inFront), raised)
  return { ahead, wanted, capacity: oldest.capacity, blocking, single: inFront.length === 1 }
}

/** A raised place waits for all places that were granted beside it, wherever they stand. */
function lookOfRaised(line: readonly Named[], me: Named, { beside, weight }: Raise): Look {
  const others = beside === null ? grantedOf(inOrder(line)) : line.filter(({ order }) => order <= beside)
  const waitedFor = others.filter((place) => place !== me)
  const ahead = waitedFor.reduce((sum, place) => sum + place.weight, 0)
  const last = beside ?? me.order
  const blocking = ahead === 0 ? [] : blockingSet({ ...me, weight }, waitedFor)
  return {
    // While nobody knows who was granted beside it, it may not be alone.
    ahead: beside === null ? Math.max(ahead, 1) : ahead,
    wanted: line.some(({ order }) => order > last),
    capacity: inOrder(line)[0]?.capacity ?? me.capacity,
    blocking,
    single: false,
  }
}

/** A place that is kept out only by the raise of a place ahead also waits for the end of that raise. */
function withMark(me: Named, blocking: readonly Named[], raised: Named | null): readonly Named[] {
  if (raised?.raise === undefined || !blocking.some(({ id }) => id === raised.id)) return blocking
  const entered = blocking.reduce((sum, { id, weight }) => sum + (id === raised.id ? raised.weight : weight), 0)
  if (!isGranted(me, { ahead: entered })) return blocking
  return [...blocking, { ...raised, name: raised.raise.name }]
}

/**
 * The same for a place that wants the whole line, from the names alone. The next place ahead blocks it, whatever the
 * others are, so of a hundred names only the next and the first are parsed. null: parse them all, because something
 * unusual is among them.
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
    if (name.startsWith('r-')) return null
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
 * The nearest places ahead whose weights sum to more than my room. As long as all of them stand I am blocked, whatever
 * happens ahead of them; when one goes, I must look again. For a mutex that is one place, for a reader the nearest
 * writer, for n permits up to n.
 */
function blockingSet(me: Named, inFront: readonly Named[]): Named[] {
  const room = me.capacity - me.weight
  const nearest = inFront.reduce((near, place) => (place.order > near.order ? place : near))
  if (nearest.weight > room) return [nearest]
  const set: Named[] = []
  let sum = 0
  for (const place of inOrder(inFront).toReversed()) {
    // A place that blocks alone is watched alone: so a reader does not wake when the readers behind its writer leave.
    if (place.weight > room) return [place]
    set.push(place)
    sum += place.weight
    if (sum > room) break
  }
  return set
}

/**
 * The places granted now: those at the front whose weights fit together. Takes the line in order. Places that came
 * after a raise count the raised place's new weight.
 */
export function grantedOf(line: readonly Named[]): Named[] {
  const capacity = line[0]?.capacity ?? 0
  const raised = raisedIn(line)
  const isKeptOut = (place: Named): boolean => raised?.raise !== undefined && !isOld(raised.raise, place)
  return holdersOf(line, capacity, (place) => (isKeptOut(place) ? Number.POSITIVE_INFINITY : 0))
}

function isOld({ beside, order }: Raise, place: Named): boolean {
  return beside === null ? place.order < order : place.order <= beside
}
