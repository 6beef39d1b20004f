/** What a pause must not cause. */
import type { Grant } from './actor.ts'
import type { Call } from './calls.ts'
import type { Played } from './play.ts'

/**
 * - no-lock: an effect without any lock, found without a pause.
 * - lost-update: one holder wrote over what the other had done since the first had looked.
 * - late-effect: an effect was accepted after a newer holder had come to the resource, and had acted or acted then.
 * - check: the resource is not as it must be. endless: the function never ended.
 */
export type HarmKind = 'no-lock' | 'lost-update' | 'late-effect' | 'check' | 'endless'

export interface Harm {
  readonly kind: HarmKind
  /** The effect that did the harm; null: none in particular. */
  readonly call: Call | null
  /** The call of the newer holder that came before it. */
  readonly before: Call | null
  readonly complaint: unknown
}

/** Judges a run without a pause. */
export function harmAlone({ calls, ends, complaint }: Played): Harm | null {
  const bare = calls.sent.find(({ kind, isHeld }) => kind === 'effect' && !isHeld)
  if (bare !== undefined) return { kind: 'no-lock', call: bare, before: null, complaint: null }
  return atTheEnd(ends.first === 'unended', complaint)
}

export function harmOf({ calls, ends, complaint }: Played): Harm | null {
  const seen = calls.seen.filter(({ kind, outcome }) => kind !== 'harmless' && outcome === 'accepted')
  for (const [at, call] of seen.entries()) {
    if (call.kind !== 'effect') continue
    const before = seen.slice(0, at).find((other) => isNewer(other, call) && matters(seen, other, at))
    if (before !== undefined) return { kind: kindOf(seen, call, before), call, before, complaint: null }
  }
  return atTheEnd(ends.first === 'unended' || ends.second === 'unended', complaint)
}

function atTheEnd(isEndless: boolean, complaint: unknown): Harm | null {
  if (complaint !== null) return { kind: 'check', call: null, before: null, complaint }
  return isEndless ? { kind: 'endless', call: null, before: null, complaint: null } : null
}

/** By a lock that both had and could not share, the newer holder has sent `other`. */
function isNewer(other: Call, call: Call): boolean {
  if (other.actor === call.actor) return false
  return call.grants.some((mine) =>
    other.grants.some(
      (theirs) => theirs.entry.line === mine.entry.line && theirs.token > mine.token && !fit(mine, theirs),
    ),
  )
}

/**
 * The late effect matters if the newer holder's call has changed something, or if that holder later changes something
 * by what the call saw. If everything later is refused (`If-Match`, a version, a key that was used), the late effect
 * has only come first.
 */
function matters(seen: readonly Call[], newer: Call, at: number): boolean {
  return [newer, ...seen.slice(at + 1)].some(({ actor, kind }) => actor === newer.actor && kind === 'effect')
}

function fit({ entry: one }: Grant, { entry: other }: Grant): boolean {
  return one.weight + other.weight <= one.capacity
}

/**
 * Which holder looked first and then overwrote something newer? The late one; or the newer one, which looked before the
 * late effect came and writes after it.
 */
function kindOf(all: readonly Call[], late: Call, before: Call): HarmKind {
  const at = all.indexOf(late)
  // Compares within one object of the resource only: a mail that comes late does not overwrite the stock.
  const isAbout = (call: Call): boolean => objectOf(call) === objectOf(late)
  const earlier = all.slice(0, at).filter(isAbout)
  const looked = all.slice(0, all.indexOf(before)).some((call) => isAbout(call) && call.actor === late.actor)
  const changed = earlier.some((call) => isNewer(call, late) && call.kind === 'effect')
  const seen = earlier.some(({ actor }) => actor === before.actor)
  const later = all.slice(at).filter(isAbout)
  const overwrites = seen && later.some(({ actor, kind }) => actor === before.actor && kind === 'effect')
  return (looked && changed) || overwrites ? 'lost-update' : 'late-effect'
}

/** `orders` of `orders.find`; '' for the resource itself. */
function objectOf({ method }: Call): string {
  return method.slice(0, Math.max(0, method.lastIndexOf('.')))
}
