/** Reads what the scripts answer. */
import { shown } from '../../contract/check.ts'
import { StoreError } from '../../contract/errors.ts'
import type { CellView, Demand, Entry, Instant, LineView, Place, Taken } from '../../contract/driver.ts'
import { capacityError } from '../shared/capacity.ts'
import { placeView } from '../view.ts'

/** A place as enter and touch give it: a token, an array, or nothing. */
export function readPlace(reply: unknown, entry: Entry, since: Instant): Place | null {
  if (reply === null || reply === undefined) return null
  if (!Array.isArray(reply)) return { token: tokenOf(reply), ahead: 0, recheckMs: null, since, wanted: false }
  const [first, ahead, recheckMs, wanted] = reply as unknown[]
  const token = wholeOf(first)
  if (token === -1) throw capacityError(entry, wholeOf(ahead))
  const ms = wholeOf(recheckMs)
  return {
    token: tokenOf(token),
    ahead: wholeOf(ahead),
    recheckMs: ms < 0 ? null : ms,
    since,
    wanted: wholeOf(wanted) === 1,
  }
}

export function readPlaces(reply: unknown, entries: readonly Entry[], since: Instant): (Place | null)[] {
  const places = listOf(reply)
  return entries.map((entry, i) => readPlace(places[i], entry, since))
}

/** Places as `enter_all` gives them: all of them granted, or none taken. */
export function readTogether(reply: unknown, entries: readonly Entry[], since: Instant): Place[] | null {
  const [first, ...rest] = listOf(reply)
  const outcome = wholeOf(first)
  if (outcome === 0) return null
  if (outcome === -1) {
    const [at, capacity] = rest.map(wholeOf)
    const entry = entries[(at ?? 0) - 1]
    if (entry === undefined) throw strange(reply, 'the number of a line')
    throw capacityError(entry, capacity ?? 0)
  }
  const places = readPlaces(rest, entries, since).filter((place) => place !== null)
  if (places.length < entries.length) throw strange(reply, 'a place for each line')
  return places
}

export function readCell(reply: unknown): CellView {
  // Nothing at the end of a list may be left out by the server.
  const [version, nonce, value] = listOf(reply)
  return {
    version: tokenOf(version),
    value: isNothing(value) ? null : textOf(value),
    nonce: isNothing(nonce) ? null : textOf(nonce),
  }
}

/** A bucket as `take` gives it: its level, or less than 0 when refused; a list where refusals are counted. */
export function readTaken(reply: unknown, { cost, burst, unit, drain }: Demand): Taken {
  let [taken, level, retryUs, isShut] = [true, 0, 0, false]
  if (typeof reply === 'object' || reply === undefined) {
    const [isTaken, units, us, shut] = listOf(reply)
    ;[taken, level, retryUs, isShut] = [wholeOf(isTaken) === 1, wholeOf(units), wholeOf(us), wholeOf(shut) === 1]
  } else {
    level = wholeOf(reply)
    if (level < 0) {
      taken = false
      level = -1 - level
      retryUs = Math.ceil((cost * unit - burst * unit + level) / drain)
    }
  }
  const left = isShut ? 0 : Math.floor((burst * unit - level) / unit)
  return { taken, left, retryMs: retryUs / 1_000, resetMs: Math.ceil(level / drain) / 1_000, shut: isShut }
}

/** A line as `view` gives it; null when nobody is in it. */
export function readView(name: string, reply: unknown): LineView | null {
  if (reply === null || reply === undefined) return null
  const [given, all, cut] = listOf(reply)
  const capacity = wholeOf(given)
  const places = listOf(all).map((item) => {
    const [token, weight, ageMs, leftMs, data] = listOf(item)
    const stored = { token: tokenOf(token), weight: wholeOf(weight), data: textOf(data) }
    return placeView(stored, { ageMs: wholeOf(ageMs), leftMs: wholeOf(leftMs) })
  })
  const holders = wholeOf(cut)
  return { name, capacity, holders: places.slice(0, holders), waiters: places.slice(holders) }
}

export function listOf(reply: unknown): readonly unknown[] {
  if (Array.isArray(reply)) return reply
  throw strange(reply, 'a list')
}

/** A whole number, whichever form the user's client gives to it. */
export function wholeOf(reply: unknown): number {
  const isNumeric = typeof reply === 'string' ? /^-?\d{1,16}$/.test(reply) : /^(number|bigint)$/.test(typeof reply)
  const number = isNumeric ? Number(reply) : Number.NaN
  if (Number.isSafeInteger(number)) return number
  throw strange(reply, 'a whole number')
}

function tokenOf(reply: unknown): bigint {
  const number = wholeOf(reply)
  if (number >= 0) return BigInt(number)
  throw strange(reply, 'a token')
}

function textOf(reply: unknown): string {
  if (typeof reply === 'string') return reply
  if (Buffer.isBuffer(reply)) return reply.toString()
  throw strange(reply, 'text')
}

function isNothing(reply: unknown): boolean {
  return reply === null || reply === undefined
}

/** What comes out of a store is input: something else may answer there, or a proxy between. */
function strange(reply: unknown, wanted: string): StoreError {
  return new StoreError(`a script of ours was answered with ${shown(reply)} where ${wanted} belongs: is this a Redis?`)
}
