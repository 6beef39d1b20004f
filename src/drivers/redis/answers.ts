/** Reads what the scripts answer. */
import { CapacityMismatchError, StoreError } from '../../core/errors.ts'
import type { CellView, Demand, Entry, Instant, LineView, Place, Taken } from '../../driver.ts'
import { placeView } from '../view.ts'

/** A place as enter and touch give it: a token, an array, or nothing. */
export function readPlace(reply: unknown, entry: Entry, since: Instant): Place | null {
  if (reply === null || reply === undefined) return null
  if (!Array.isArray(reply)) return { token: BigInt(reply as number), ahead: 0, recheckMs: null, since, wanted: false }
  const [token, ahead, recheckMs, wanted] = reply.map(Number) as [number, number, number, number]
  if (token === -1) throw mismatch(entry, ahead)
  return { token: BigInt(token), ahead, recheckMs: recheckMs < 0 ? null : recheckMs, since, wanted: wanted === 1 }
}

export function readPlaces(reply: unknown, entries: readonly Entry[], since: Instant): (Place | null)[] {
  const places = listOf(reply)
  return entries.map((entry, i) => readPlace(places[i], entry, since))
}

/** Places as `enter_all` gives them: all of them granted, or none taken. */
export function readTogether(reply: unknown, entries: readonly Entry[], since: Instant): Place[] | null {
  const [outcome, ...rest] = listOf(reply)
  const [at, capacity] = rest.map(Number)
  if (Number(outcome) === -1) throw mismatch(entries[(at ?? 0) - 1] as Entry, capacity ?? 0)
  if (Number(outcome) === 0) return null
  return readPlaces(rest, entries, since).filter((place) => place !== null)
}

function mismatch(entry: Entry, capacity: number): CapacityMismatchError {
  return new CapacityMismatchError(
    `line ${JSON.stringify(entry.line)} has capacity ${capacity} while it is in use, asked for ${entry.capacity}`,
    { line: entry.line },
  )
}

export function readCell(reply: unknown): CellView {
  // Nothing at the end of a list may be left out by the server.
  const [version, nonce, value] = listOf(reply) as [number, string?, string?]
  return { version: BigInt(version), value: value ?? null, nonce: nonce ?? null }
}

/** A bucket as `take` gives it: its level, or less than 0 when refused; a list where refusals are counted. */
export function readTaken(reply: unknown, { cost, burst, unit, drain }: Demand): Taken {
  let [taken, level, retryUs, isShut] = [true, 0, 0, false]
  if (typeof reply === 'object' || reply === undefined) {
    const [isTaken, units, us, shut] = listOf(reply).map(Number) as [number, number, number, number]
    ;[taken, level, retryUs, isShut] = [isTaken === 1, units, us, shut === 1]
  } else {
    level = Number(reply)
    if (level < 0) {
      taken = false
      level = -1 - level
      retryUs = Math.ceil((cost * unit - burst * unit + level) / drain)
    }
  }
  const left = isShut ? 0 : Math.floor((burst * unit - level) / unit)
  return { taken, left, retryMs: retryUs / 1_000, resetMs: Math.ceil(level / drain) / 1_000, shut: isShut }
}

/** A line as `view` gives it; null when nobody is in it. Who holds is decided here by the one rule: the front that fits. */
export function readView(name: string, reply: unknown): LineView | null {
  if (reply === null || reply === undefined) return null
  const [given, all] = listOf(reply)
  const capacity = Number(given)
  const places = listOf(all).map((item) => {
    const [token, weight, ageMs, leftMs, data] = listOf(item)
    const stored = { token: BigInt(token as number), weight: Number(weight), data: String(data) }
    return placeView(stored, { ageMs: Number(ageMs), leftMs: Number(leftMs) })
  })
  let used = 0
  const blocked = places.findIndex(({ weight }) => (used += weight) > capacity)
  const cut = blocked < 0 ? places.length : blocked
  return { name, capacity, holders: places.slice(0, cut), waiters: places.slice(cut) }
}

export function listOf(reply: unknown): readonly unknown[] {
  if (Array.isArray(reply)) return reply
  throw new StoreError(`a script of ours was answered with ${typeof reply} where a list belongs: is this a Redis?`)
}
