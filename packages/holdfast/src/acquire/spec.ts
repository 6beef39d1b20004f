/** What one lock asks of its line, decided once. */
import { UsageError } from '../contract/errors.ts'
import type { LockSettings } from '../contract/options.ts'
import type { EventSource } from '../contract/events.ts'
import type { Runtime } from '../contract/runtime.ts'
import type { Core } from './core.ts'

/** 'exclusive' excludes all, 'shared' excludes the exclusive, 'permits' are counted and never re-entered. */
export type Mode = 'exclusive' | 'shared' | 'permits'

export interface Spec {
  readonly name: string
  readonly mode: Mode
  readonly weight: number
  readonly capacity: number
  readonly settings: LockSettings
  readonly data: string
  /** Callers of one line with equal keys may share a place; null: each takes its own. */
  readonly shareKey: string | null
  /** Who asks, for those who listen to events. */
  readonly source: EventSource
}

export function makeSpec(
  { runtime, source }: Pick<Core, 'runtime' | 'source'>,
  line: { readonly name: string; readonly mode: Mode; readonly weight: number; readonly capacity: number },
  settings: LockSettings,
  /** What a candidate says of itself. Candidates never share a place. */
  value?: string,
): Spec {
  const texts = textsOf(runtime, settings, value)
  // With aliveIf a lease may be renewed no more: it is nobody's to hand on.
  const isAlone = settings.fairness !== 'local' || settings.minHoldMs > 0 || settings.aliveIf !== null
  const shares = !isAlone && value === undefined && sharable(line, settings)
  const { name, mode, weight, capacity } = line
  return {
    name,
    mode,
    weight,
    capacity,
    settings,
    data: texts.data,
    shareKey: shares ? shareKeyOf(texts, capacity, mode) : null,
    source,
  }
}

/** One at a time can share a place, and so can readers, if all that a reader has begins and ends with its handle. */
function sharable({ mode, weight }: Pick<Spec, 'mode' | 'weight'>, { renew, maxHoldMs }: LockSettings): boolean {
  if (mode === 'exclusive') return true
  return mode === 'shared' && weight === 1 && renew && maxHoldMs === Number.POSITIVE_INFINITY
}

interface Texts {
  readonly data: string
  /** What callers must agree on to share a place, besides name and capacity. */
  readonly share: string
  /**
   * The same with the capacity, of readers below 0. Made once: a key built for each lock was a tenth of a hold's heap.
   */
  readonly keys: Map<number, string>
}

function shareKeyOf({ share, keys }: Texts, capacity: number, mode: Mode): string {
  const kind = mode === 'shared' ? -capacity : capacity
  let key = keys.get(kind)
  if (key === undefined) {
    key = `${kind}${share}`
    keys.set(kind, key)
  }
  return key
}

// Most locks of an instance have its own settings: writing the JSON anew for each cost as much as the rest of an
// acquisition.
const known = new WeakMap<LockSettings, Texts>()

function textsOf(runtime: Runtime, settings: LockSettings, value: string | undefined): Texts {
  const before = value === undefined ? known.get(settings) : undefined
  if (before !== undefined) return before
  const { label, ttlMs, renew, maxHoldMs, lockDelayMs, handovers, keepMs } = settings
  // It stands in the store once for each place: what is not said takes no room there.
  const data = JSON.stringify({ label: label === '' ? undefined : label, host: runtime.host, pid: runtime.pid, value })
  if (Buffer.byteLength(data) > 1024) {
    throw new UsageError(
      `label, value and host name must fit into 1024 bytes of JSON together; they make ${data.length}`,
    )
  }
  const texts = {
    data,
    share: JSON.stringify([ttlMs, renew, maxHoldMs, lockDelayMs, handovers, keepMs, label]),
    keys: new Map<number, string>(),
  }
  if (value === undefined) known.set(settings, texts)
  return texts
}

/**
 * The same, by a caller that holds other lines: it says so, for the finder of deadlocks, and shares its place with
 * nobody.
 */
export function withHolds(spec: Spec, holds: readonly { readonly line: string; readonly token: bigint }[]): Spec {
  const data = JSON.parse(spec.data) as Record<string, unknown>
  // As many as fit, the innermost first.
  for (let count = Math.min(holds.length, HOLDS_MAX); count > 0; count--) {
    const named = holds.slice(0, count).map(({ line, token }) => [line, String(token)])
    const text = JSON.stringify({ ...data, holds: named })
    if (Buffer.byteLength(text) <= 1024) return { ...spec, data: text, shareKey: null }
  }
  return { ...spec, shareKey: null }
}

const HOLDS_MAX = 16
