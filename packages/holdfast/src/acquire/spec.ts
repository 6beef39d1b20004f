/** What one lock asks of its line, decided once. */
import type { Entry } from '../driver.ts'
import { UsageError } from './errors.ts'
import type { LockSettings } from './options.ts'
import type { Runtime } from './runtime.ts'

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
}

export function makeSpec(
  runtime: Runtime,
  line: { readonly name: string; readonly mode: Mode; readonly weight: number; readonly capacity: number },
  settings: LockSettings,
  /** What a candidate says of itself. Candidates never share a place. */
  value?: string,
): Spec {
  const texts = textsOf(runtime, settings, value)
  const shares =
    line.mode === 'exclusive' && settings.fairness === 'local' && settings.minHoldMs === 0 && value === undefined
  const { name, mode, weight, capacity } = line
  return {
    name,
    mode,
    weight,
    capacity,
    settings,
    data: texts.data,
    shareKey: shares ? shareKeyOf(texts, capacity) : null,
  }
}

interface Texts {
  readonly data: string
  /** What callers must agree on to share a place, besides name and capacity. */
  readonly share: string
  /** The same with the capacity. Made once: a key built for each lock was a tenth of the heap that a hold keeps. */
  readonly keys: Map<number, string>
}

function shareKeyOf({ share, keys }: Texts, capacity: number): string {
  let key = keys.get(capacity)
  if (key === undefined) {
    key = `${capacity}${share}`
    keys.set(capacity, key)
  }
  return key
}

// Most locks of an instance have its own settings: writing the JSON anew for each cost as much as the rest of an acquisition.
const known = new WeakMap<LockSettings, Texts>()

function textsOf(runtime: Runtime, settings: LockSettings, value: string | undefined): Texts {
  const before = value === undefined ? known.get(settings) : undefined
  if (before !== undefined) return before
  const { label, ttlMs, renew, maxHoldMs, lockDelayMs, handovers } = settings
  // It stands in the store once for each place: what is not said takes no room there.
  const data = JSON.stringify({ label: label === '' ? undefined : label, host: runtime.host, pid: runtime.pid, value })
  if (Buffer.byteLength(data) > 1024) {
    throw new UsageError(
      `label, value and host name must fit into 1024 bytes of JSON together; they make ${data.length}`,
    )
  }
  const texts = {
    data,
    share: JSON.stringify([ttlMs, renew, maxHoldMs, lockDelayMs, handovers, label]),
    keys: new Map<number, string>(),
  }
  if (value === undefined) known.set(settings, texts)
  return texts
}

/** The same, by a caller that holds other lines: it says so, for the finder of deadlocks, and shares its place with nobody. */
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

/** The store keeps the place for longer than its holder believes in it, if others are to be kept away after a loss. */
export function makeEntry({ name, weight, capacity, settings, data }: Spec, id: string): Entry {
  const { ttlMs, lockDelayMs, minHoldMs } = settings
  const outlives = lockDelayMs > 0 || minHoldMs > 0
  return { line: name, id, weight, capacity, ttlMs: ttlMs + lockDelayMs, data, outlives }
}
