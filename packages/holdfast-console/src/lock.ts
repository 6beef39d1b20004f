/** A lock as it was at one moment, and its row in the list. */
import type { LineView, PlaceView } from 'holdfast'
import { CAPACITY_MAX } from 'holdfast/internal'
import type { HolderParty, Kind, Party, Row } from './wire.ts'

/** Holders that a row shows; the page of the lock shows all. */
const ROW_HOLDERS = 3
/** An unrenewed lease seems to end a little earlier or later with every look; that is no change. */
const JITTER_MS = 250

export interface Lock {
  readonly name: string
  readonly kind: Kind
  readonly capacity: number
  readonly holders: readonly HolderParty[]
  readonly waiters: readonly Party[]
  readonly seenMs: number
}

/** The lock that `hf.list()` gave, as of `nowMs`; `before` is the same lock at the last look. */
export function lockOf(line: LineView, nowMs: number, before: Lock | undefined): Lock {
  const known = new Map((before?.holders ?? []).map((holder) => [holder.token, holder]))
  const waited = new Map((before?.waiters ?? []).map((waiter) => [waiter.token, waiter]))
  return {
    name: line.name,
    kind: kindOf(line),
    capacity: line.capacity,
    holders: line.holders.map((place) => holderOf(place, nowMs, known, waited, before !== undefined)),
    waiters: line.waiters.map((place) => partyOf(place, nowMs, waited)),
    seenMs: nowMs,
  }
}

function holderOf(
  place: PlaceView,
  nowMs: number,
  known: ReadonlyMap<string, HolderParty>,
  waited: ReadonlyMap<string, Party>,
  wasSeen: boolean,
): HolderParty {
  const token = String(place.token)
  const last = known.get(token)
  const end = nowMs + place.leftMs
  const endMs = last !== undefined && Math.abs(end - last.endMs) < JITTER_MS ? last.endMs : Math.round(end)
  const leaseMs = Math.max(last?.leaseMs ?? 0, Math.ceil(place.leftMs))
  // A holder that the last look did not show has got the lock since then.
  const gotMs = last === undefined ? (wasSeen || waited.has(token) ? nowMs : undefined) : last.gotMs
  return {
    ...(last ?? partyOf(place, nowMs, waited)),
    weight: place.weight,
    endMs,
    leaseMs,
    ...(gotMs === undefined ? {} : { gotMs }),
  }
}

function partyOf(place: PlaceView, nowMs: number, known: ReadonlyMap<string, Party>): Party {
  const token = String(place.token)
  const { label, host, pid, weight, value } = place
  return (
    known.get(token) ?? {
      token,
      label,
      host,
      pid,
      weight,
      askedMs: Math.round(nowMs - place.ageMs),
      ...(value === undefined ? {} : { value }),
    }
  )
}

function kindOf({ capacity, holders, waiters }: LineView): Kind {
  if (capacity === CAPACITY_MAX) return 'read-write'
  if (capacity > 1) return 'semaphore'
  return [...holders, ...waiters].some(({ value }) => value !== undefined) ? 'election' : 'mutex'
}

export function rowOf(lock: Lock, handovers: number): Row {
  const { name, kind, capacity, holders, waiters } = lock
  return {
    name,
    kind,
    capacity,
    holders: holders.slice(0, ROW_HOLDERS),
    held: holders.length,
    waiting: waiters.length,
    oldestMs: waiters.reduce<number | null>((least, { askedMs }) => Math.min(least ?? askedMs, askedMs), null),
    handovers,
  }
}
