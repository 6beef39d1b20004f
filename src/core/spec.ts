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
  /** Callers with equal keys may share a place; null: each takes its own. */
  readonly shareKey: string | null
}

export function makeSpec(
  runtime: Runtime,
  line: { readonly name: string; readonly mode: Mode; readonly weight: number; readonly capacity: number },
  settings: LockSettings,
  /** What a candidate says of itself. Candidates never share a place. */
  value?: string,
): Spec {
  const { label, ttlMs, renew, maxHoldMs, handovers, fairness } = settings
  const data = JSON.stringify({ label, host: runtime.host, pid: runtime.pid, value })
  if (Buffer.byteLength(data) > 1024) {
    throw new UsageError(
      `label, value and host name must fit into 1024 bytes of JSON together; they make ${data.length}`,
    )
  }
  const shares = line.mode === 'exclusive' && fairness === 'local' && value === undefined
  const shareKey = shares ? JSON.stringify([line.name, line.capacity, ttlMs, renew, maxHoldMs, handovers, label]) : null
  return { ...line, settings, data, shareKey }
}

export function makeEntry(spec: Spec, id: string): Entry {
  return {
    line: spec.name,
    id,
    weight: spec.weight,
    capacity: spec.capacity,
    ttlMs: spec.settings.ttlMs,
    data: spec.data,
  }
}
