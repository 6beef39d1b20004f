/**
 * What happened to a lock between two looks. The store keeps no past, so the console misses what comes and goes between
 * two looks, and only the lease tells a release from a lapse. If the lease would still have run, the holder let go (or
 * somebody broke the lock with `now`). If it was over by then, it ran out.
 */
import { who } from 'holdfast/internal'
import type { Lock } from './lock.ts'
import type { EventKind, HolderParty } from './wire.ts'

export interface Change {
  readonly kind: EventKind
  readonly who: string
  readonly token: string
  readonly note: string
  /** When the holder got the lock that it holds no more; null: this event is about a new holder. */
  readonly fromMs: number | null
}

/** A look takes its time: a lease that ends so shortly after the look counts as ended. */
const SLACK_MS = 50

export function changesOf(before: Lock | undefined, after: Lock | undefined, nowMs: number): Change[] {
  const changes: Change[] = []
  const isElection = (after ?? before)?.kind === 'election'
  const now = new Set(after?.holders.map(({ token }) => token))
  const past = new Set(before?.holders.map(({ token }) => token))
  const left = (before?.holders ?? []).filter(({ token }) => !now.has(token))
  for (const holder of left) changes.push(ending(holder, nowMs))
  for (const holder of after?.holders ?? []) {
    if (past.has(holder.token)) continue
    const waited = before?.waiters.some(({ token }) => token === holder.token) ?? false
    const from = left[0]
    const isHandedOver = waited || from !== undefined
    changes.push({
      kind: isElection ? 'elected' : isHandedOver ? 'handed over' : 'acquired',
      who: who(holder),
      token: holder.token,
      note: from === undefined ? '' : `after ${who(from)}`,
      fromMs: null,
    })
  }
  return changes
}

function ending(holder: HolderParty, nowMs: number): Change {
  const isOver = holder.endMs <= nowMs + SLACK_MS
  const kind = holder.broken ? 'broken' : isOver ? 'ran out' : 'released'
  const note = holder.broken ? 'by this console' : isOver ? 'not renewed' : ''
  return { kind, who: who(holder), token: holder.token, note, fromMs: holder.gotMs ?? holder.askedMs }
}
